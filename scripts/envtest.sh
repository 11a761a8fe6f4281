#!/usr/bin/env bash
# Makes a folder for KUBEBUILDER_ASSETS, from which controller-runtime's envtest starts Pintle:
#
#     pintle              the server
#     kube-apiserver      runs it as envtest's API server, on the embedded store
#     etcd                a stand-in that says where that store belongs
#     kubectl             a link to one that is found, if there is one
#
# Usage: scripts/envtest.sh PINTLE FOLDER
set -euo pipefail

pintle=$1 folder=$2
mkdir -p "$folder"
# Beside and then in its place: the old one may be running.
cp "$pintle" "$folder/.pintle.new"
mv -f "$folder/.pintle.new" "$folder/pintle"
for name in kube-apiserver etcd; do
    cat > "$folder/.$name.new" <<SCRIPT
#!/bin/sh
exec "\$(dirname "\$0")/pintle" envtest $name "\$@"
SCRIPT
    chmod 755 "$folder/.$name.new"
    mv -f "$folder/.$name.new" "$folder/$name"
done
kubectl=${KUBECTL:-$(command -v kubectl || true)}
[ -z "$kubectl" ] || ln -sf "$kubectl" "$folder/kubectl"
folder=$(cd "$folder" && pwd)
echo
echo "  export KUBEBUILDER_ASSETS=$folder"
echo
