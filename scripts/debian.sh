# Programs out of Debian packages, without installing anything. Sourced by scripts that set `folder`, where things go, and `log`.

# The release of this machine, empty if it is not Debian's kind.
codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")

# unpack PACKAGE RELEASE: unpacks a package of a release into FOLDER/RELEASE, from the machine's own apt sources with the name of
# the release exchanged. All of apt's state is private, so that this needs no root and cannot disturb the machine's.
unpack() {
    local package=$1 to=$2 state=$folder/apt-$2 target=$folder/$2 source
    [ -n "$codename" ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    mkdir -p "$state/sources.list.d" "$state/lists/partial" "$state/cache/archives/partial" "$target"
    : >"$state/sources.list"
    # Nothing is installed: a package of the same name from another vendor would be preferred, and cannot be had.
    : >"$state/status"
    for source in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        # Only the distribution's own: other vendors name their suites differently.
        [ -f "$source" ] && grep -qE "debian|ubuntu" "$source" && grep -q "$codename" "$source" || continue
        case "$source" in
        *.sources) sed "s/$codename/$to/g" "$source" >"$state/sources.list.d/$(basename "$source")" ;;
        *) sed "s/$codename/$to/g" "$source" >>"$state/sources.list" ;;
        esac
    done
    local options=(-o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=$state/sources.list.d"
        -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
        -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User= -o Acquire::Languages=none)
    log "looking for $package of $to"
    apt-get "${options[@]}" update >"$state/log" 2>&1 || true # a source that fails may not be the one that matters
    (cd "$state" && apt-get "${options[@]}" download "$package" >>log 2>&1) || return 1
    dpkg -x "$state/$package"_*.deb "$target" || return 1
    rm -rf "$state"
}
