//! The functions there are, with the types they take: the standard library, its string extension, and those that
//! Anubis adds for requests.

use super::types::Type;

/// A function, whatever it is called with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Function {
    ArpaReverseIp,
    Bool,
    Bytes,
    CharAt,
    Contains,
    Double,
    Duration,
    Dyn,
    EndsWith,
    Format,
    Get(Part),
    IndexOf,
    Int,
    Join,
    LastIndexOf,
    LookupHost,
    LowerAscii,
    Matches,
    MissingHeader,
    Quote,
    RandInt,
    RegexSafe,
    Replace,
    Reverse,
    ReverseDns,
    Segments,
    Size,
    Split,
    StartsWith,
    Substring,
    Text,
    Timestamp,
    Trim,
    Type,
    Uint,
    UpperAscii,
    VerifyFcrdns,
}

/// A part of a timestamp or a duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// Day of the month, from 1.
    Date,
    /// Day of the month, from 0.
    DayOfMonth,
    /// Day of the week, Sunday is 0.
    DayOfWeek,
    /// Day of the year, from 0.
    DayOfYear,
    FullYear,
    Hours,
    Milliseconds,
    Minutes,
    /// From 0.
    Month,
    Seconds,
}

/// One way to call a function.
pub(super) struct Signature {
    pub(super) name: &'static str,
    /// Whether the first parameter stands before the name: `target.name(...)`.
    pub(super) member: bool,
    pub(super) params: &'static [Param],
    pub(super) result: Param,
    pub(super) function: Function,
    /// Whether only rules know it, because it needs a request.
    pub(super) request: bool,
}

/// What a parameter takes, or a call yields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Param {
    Any,
    Bool,
    Bytes,
    Double,
    Duration,
    Int,
    List,
    Map,
    Text,
    Texts,
    TextsByText,
    Timestamp,
    Type,
    Uint,
}

impl Param {
    /// The type it stands for.
    pub(super) fn to_type(self) -> Type {
        let dynamic = || Box::new(Type::Dyn);
        match self {
            Self::Any => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::Bytes => Type::Bytes,
            Self::Double => Type::Double,
            Self::Duration => Type::Duration,
            Self::Int => Type::Int,
            Self::List => Type::List(dynamic()),
            Self::Map => Type::Map(dynamic(), dynamic()),
            Self::Text => Type::Text,
            Self::Texts => Type::texts(),
            Self::TextsByText => Type::Map(Box::new(Type::Text), Box::new(Type::Text)),
            Self::Timestamp => Type::Timestamp,
            Self::Type => Type::Kind,
            Self::Uint => Type::Uint,
        }
    }
}

const fn plain(name: &'static str, params: &'static [Param], result: Param, function: Function) -> Signature {
    Signature { name, member: false, params, result, function, request: false }
}

const fn member(
    name: &'static str,
    params: &'static [Param],
    result: Param,
    function: Function,
) -> Signature {
    Signature { name, member: true, params, result, function, request: false }
}

const fn request(
    name: &'static str,
    params: &'static [Param],
    result: Param,
    function: Function,
) -> Signature {
    Signature { name, member: false, params, result, function, request: true }
}

use Function as F;
use Param::{Any, Bool, Bytes, Double, Duration, Int, List, Map, Text, Texts, TextsByText, Timestamp, Uint};

/// Every way to call every function.
pub(super) static SIGNATURES: &[Signature] = &[
    request("arpaReverseIP", &[Text], Text, F::ArpaReverseIp),
    request("lookupHost", &[Text], Texts, F::LookupHost),
    request("missingHeader", &[TextsByText, Text], Bool, F::MissingHeader),
    request("regexSafe", &[Text], Text, F::RegexSafe),
    request("reverseDNS", &[Text], Texts, F::ReverseDns),
    request("segments", &[Text], Texts, F::Segments),
    request("verifyFCrDNS", &[Text], Bool, F::VerifyFcrdns),
    request("verifyFCrDNS", &[Text, Text], Bool, F::VerifyFcrdns),
    plain("randInt", &[Int], Int, F::RandInt),
    plain("bool", &[Bool], Bool, F::Bool),
    plain("bool", &[Text], Bool, F::Bool),
    plain("bytes", &[Bytes], Bytes, F::Bytes),
    plain("bytes", &[Text], Bytes, F::Bytes),
    plain("double", &[Double], Double, F::Double),
    plain("double", &[Int], Double, F::Double),
    plain("double", &[Text], Double, F::Double),
    plain("double", &[Uint], Double, F::Double),
    plain("duration", &[Duration], Duration, F::Duration),
    plain("duration", &[Text], Duration, F::Duration),
    plain("dyn", &[Any], Any, F::Dyn),
    plain("int", &[Int], Int, F::Int),
    plain("int", &[Double], Int, F::Int),
    plain("int", &[Text], Int, F::Int),
    plain("int", &[Timestamp], Int, F::Int),
    plain("int", &[Uint], Int, F::Int),
    plain("matches", &[Text, Text], Bool, F::Matches),
    plain("size", &[Bytes], Int, F::Size),
    plain("size", &[List], Int, F::Size),
    plain("size", &[Map], Int, F::Size),
    plain("size", &[Text], Int, F::Size),
    plain("string", &[Bool], Text, F::Text),
    plain("string", &[Bytes], Text, F::Text),
    plain("string", &[Double], Text, F::Text),
    plain("string", &[Duration], Text, F::Text),
    plain("string", &[Int], Text, F::Text),
    plain("string", &[Text], Text, F::Text),
    plain("string", &[Timestamp], Text, F::Text),
    plain("string", &[Uint], Text, F::Text),
    plain("strings.quote", &[Text], Text, F::Quote),
    plain("timestamp", &[Int], Timestamp, F::Timestamp),
    plain("timestamp", &[Text], Timestamp, F::Timestamp),
    plain("timestamp", &[Timestamp], Timestamp, F::Timestamp),
    plain("type", &[Any], Param::Type, F::Type),
    plain("uint", &[Double], Uint, F::Uint),
    plain("uint", &[Int], Uint, F::Uint),
    plain("uint", &[Text], Uint, F::Uint),
    plain("uint", &[Uint], Uint, F::Uint),
    member("charAt", &[Text, Int], Text, F::CharAt),
    member("contains", &[Text, Text], Bool, F::Contains),
    member("endsWith", &[Text, Text], Bool, F::EndsWith),
    member("format", &[Text, List], Text, F::Format),
    member("getDate", &[Timestamp], Int, F::Get(Part::Date)),
    member("getDate", &[Timestamp, Text], Int, F::Get(Part::Date)),
    member("getDayOfMonth", &[Timestamp], Int, F::Get(Part::DayOfMonth)),
    member("getDayOfMonth", &[Timestamp, Text], Int, F::Get(Part::DayOfMonth)),
    member("getDayOfWeek", &[Timestamp], Int, F::Get(Part::DayOfWeek)),
    member("getDayOfWeek", &[Timestamp, Text], Int, F::Get(Part::DayOfWeek)),
    member("getDayOfYear", &[Timestamp], Int, F::Get(Part::DayOfYear)),
    member("getDayOfYear", &[Timestamp, Text], Int, F::Get(Part::DayOfYear)),
    member("getFullYear", &[Timestamp], Int, F::Get(Part::FullYear)),
    member("getFullYear", &[Timestamp, Text], Int, F::Get(Part::FullYear)),
    member("getHours", &[Duration], Int, F::Get(Part::Hours)),
    member("getHours", &[Timestamp], Int, F::Get(Part::Hours)),
    member("getHours", &[Timestamp, Text], Int, F::Get(Part::Hours)),
    member("getMilliseconds", &[Duration], Int, F::Get(Part::Milliseconds)),
    member("getMilliseconds", &[Timestamp], Int, F::Get(Part::Milliseconds)),
    member("getMilliseconds", &[Timestamp, Text], Int, F::Get(Part::Milliseconds)),
    member("getMinutes", &[Duration], Int, F::Get(Part::Minutes)),
    member("getMinutes", &[Timestamp], Int, F::Get(Part::Minutes)),
    member("getMinutes", &[Timestamp, Text], Int, F::Get(Part::Minutes)),
    member("getMonth", &[Timestamp], Int, F::Get(Part::Month)),
    member("getMonth", &[Timestamp, Text], Int, F::Get(Part::Month)),
    member("getSeconds", &[Duration], Int, F::Get(Part::Seconds)),
    member("getSeconds", &[Timestamp], Int, F::Get(Part::Seconds)),
    member("getSeconds", &[Timestamp, Text], Int, F::Get(Part::Seconds)),
    member("indexOf", &[Text, Text], Int, F::IndexOf),
    member("indexOf", &[Text, Text, Int], Int, F::IndexOf),
    member("join", &[Texts], Text, F::Join),
    member("join", &[Texts, Text], Text, F::Join),
    member("lastIndexOf", &[Text, Text], Int, F::LastIndexOf),
    member("lastIndexOf", &[Text, Text, Int], Int, F::LastIndexOf),
    member("lowerAscii", &[Text], Text, F::LowerAscii),
    member("matches", &[Text, Text], Bool, F::Matches),
    member("replace", &[Text, Text, Text], Text, F::Replace),
    member("replace", &[Text, Text, Text, Int], Text, F::Replace),
    member("reverse", &[Text], Text, F::Reverse),
    member("size", &[Bytes], Int, F::Size),
    member("size", &[List], Int, F::Size),
    member("size", &[Map], Int, F::Size),
    member("size", &[Text], Int, F::Size),
    member("split", &[Text, Text], Texts, F::Split),
    member("split", &[Text, Text, Int], Texts, F::Split),
    member("startsWith", &[Text, Text], Bool, F::StartsWith),
    member("substring", &[Text, Int], Text, F::Substring),
    member("substring", &[Text, Int, Int], Text, F::Substring),
    member("trim", &[Text], Text, F::Trim),
    member("upperAscii", &[Text], Text, F::UpperAscii),
];
