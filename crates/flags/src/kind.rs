//! The kinds of values a flag can have, and their names in the help text.

/// How a flag's value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true`, `false` and Go's other spellings; a lone flag means true.
    Bool,
    /// Any text.
    String,
    /// A CSV record; repeating the flag appends.
    Strings,
    /// One element per occurrence, commas included.
    StringArray,
    /// A signed integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A number.
    Float,
    /// A number of single precision.
    Float32,
    /// A Go duration.
    Duration,
    /// An IP address, or none.
    Ip,
    /// `key=value,...`; the value may be missing.
    Pairs,
    /// One `key=value` per occurrence, commas belong to the value.
    PairsOneEach,
    /// `key=value` as a CSV record, so that values may hold commas.
    QuotedPairs,
    /// `component:entry,...`; the component may be missing.
    Multimap,
    /// `cert,key` or `cert,key:name,name`; one per occurrence.
    NamedCertKey,
    /// 32-bit integers separated by commas.
    Int32Slice,
    /// A number of bytes with an optional suffix.
    Quantity,
    /// A log verbosity.
    Level,
    /// Log verbosities per source file.
    VModule,
    /// The form of the version to print, if any.
    Version,
    /// `low-high`, `low+count` or one port.
    PortRange,
}

impl Kind {
    /// The type's name in the help text; the reference's names.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Strings => "strings",
            Kind::StringArray => "stringArray",
            Kind::Int => "int",
            Kind::Uint => "uint",
            Kind::Float => "float",
            Kind::Float32 => "float32",
            Kind::Duration => "duration",
            Kind::Ip => "ip",
            Kind::Pairs | Kind::PairsOneEach => "mapStringString",
            Kind::QuotedPairs => "stringToString",
            Kind::Multimap => "colonSeparatedMultimapStringString",
            Kind::NamedCertKey => "namedCertKey",
            Kind::Int32Slice => "int32Slice",
            Kind::Quantity => "quantity",
            Kind::Level => "Level",
            Kind::VModule => "pattern=N,...",
            Kind::Version => "version",
            Kind::PortRange => "portRange",
        }
    }
}
