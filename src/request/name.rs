//! The names of headers that requests bring, or are asked for, all day: each is known by a number, which is found once where a line
//! comes in, so that nobody compares names to find it. Those that shipped policies ask for are among them.

/// The name of a header that is known by number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KnownName(u8);

/// A name to look for, in any case.
#[derive(Clone, Copy, Debug)]
pub struct Name<'n>(pub(super) Kind<'n>);

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<'n> {
    Known(KnownName),
    Other(&'n [u8], Tag),
}

impl Name<'_> {
    /// The number it is known by, if it is.
    pub fn known(self) -> Option<KnownName> {
        match self.0 {
            Kind::Known(known) => Some(known),
            Kind::Other(..) => None,
        }
    }
}

impl From<KnownName> for Name<'static> {
    fn from(known: KnownName) -> Self {
        Self(Kind::Known(known))
    }
}

impl<'n> From<&'n str> for Name<'n> {
    fn from(text: &'n str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'n> From<&'n [u8]> for Name<'n> {
    #[inline]
    fn from(text: &'n [u8]) -> Self {
        let tag = Tag::of(text);
        Self(KnownName::of(text, tag).map_or(Kind::Other(text, tag), Kind::Known))
    }
}

impl KnownName {
    /// How many there are.
    pub(super) const COUNT: usize = TEXTS.len();

    /// The known name that this is, by its tag.
    #[inline]
    fn of(name: &[u8], tag: Tag) -> Option<Self> {
        let known = Self(PLACES[tag.place(MULTIPLIER)].checked_sub(1)?);
        let text = known.as_str().as_bytes();
        // Most arrive in lower case.
        (name == text || name.eq_ignore_ascii_case(text)).then_some(known)
    }

    /// Its number, below [`KnownName::COUNT`].
    pub(super) const fn number(self) -> usize {
        self.0 as usize
    }

    /// The name, in lower case.
    pub const fn as_str(self) -> &'static str {
        TEXTS[self.number()]
    }
}

/// Equal for names that are equal without regard to case, and seldom for others: the length, the byte in the middle and the last two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Tag(u32);

impl Tag {
    pub(super) const fn of(name: &[u8]) -> Self {
        let length = name.len();
        if length < 2 {
            return Self(if length == 0 { 0 } else { (name[0] | 0x20) as u32 });
        }
        let bytes = [name[length / 2] | 0x20, name[length - 1] | 0x20, name[length - 2] | 0x20];
        Self(u32::from_le_bytes([length as u8, bytes[0], bytes[1], bytes[2]]))
    }

    /// A number below 256, by the product with a number of many bits.
    pub(super) const fn hash(self) -> u8 {
        (self.0.wrapping_mul(0x9E37_79B1) >> 24) as u8
    }

    /// A number below 512, by the product with this one.
    const fn place(self, multiplier: u32) -> usize {
        (self.0.wrapping_mul(multiplier) >> 23) as usize
    }
}

/// A number with which no two known names have one place. Odd, since an even one would lose bits.
const MULTIPLIER: u32 = {
    const FIRST: u32 = 0x9E37_79B1;
    let mut multiplier = FIRST;
    // For each place, the last multiplier that had a name there.
    let mut taken = [0; 512];
    'next: loop {
        multiplier = multiplier.wrapping_add(2);
        assert!(multiplier - FIRST < 4000, "two names have one tag, or there are too many for the places");
        let mut at = 0;
        while at < TEXTS.len() {
            let place = Tag::of(TEXTS[at].as_bytes()).place(multiplier);
            if taken[place] == multiplier {
                continue 'next;
            }
            taken[place] = multiplier;
            at += 1;
        }
        break multiplier;
    }
};

/// For each place the known name there, counted from one.
const PLACES: [u8; 512] = {
    let mut places = [0; 512];
    let mut at = 0;
    while at < TEXTS.len() {
        places[Tag::of(TEXTS[at].as_bytes()).place(MULTIPLIER)] = at as u8 + 1;
        at += 1;
    }
    places
};

macro_rules! known {
    ($($constant:ident $text:literal,)+) => {
        const TEXTS: &[&str] = &[$($text),+];
        known!(@number 0; $($constant $text,)+);
    };
    (@number $number:expr; $constant:ident $text:literal, $($rest:tt)*) => {
        #[doc = concat!("`", $text, "`")]
        pub const $constant: KnownName = KnownName($number);
        known!(@number $number + 1; $($rest)*);
    };
    (@number $number:expr;) => {};
}

known! {
    ACCEPT "accept",
    ACCEPT_CHARSET "accept-charset",
    ACCEPT_ENCODING "accept-encoding",
    ACCEPT_LANGUAGE "accept-language",
    ACCESS_CONTROL_REQUEST_METHOD "access-control-request-method",
    AUTHORIZATION "authorization",
    CACHE_CONTROL "cache-control",
    CDN_LOOP "cdn-loop",
    CF_EW_VIA "cf-ew-via",
    CF_WORKER "cf-worker",
    CONNECTION "connection",
    CONTENT_LENGTH "content-length",
    CONTENT_TYPE "content-type",
    COOKIE "cookie",
    DNT "dnt",
    DOCKER_DISTRIBUTION_API_VERSION "docker-distribution-api-version",
    HOST "host",
    IF_MODIFIED_SINCE "if-modified-since",
    IF_NONE_MATCH "if-none-match",
    ORIGIN "origin",
    PRAGMA "pragma",
    PRIORITY "priority",
    PURPOSE "purpose",
    RANGE "range",
    REFERER "referer",
    SEC_CH_UA "sec-ch-ua",
    SEC_CH_UA_MOBILE "sec-ch-ua-mobile",
    SEC_CH_UA_PLATFORM "sec-ch-ua-platform",
    SEC_FETCH_DEST "sec-fetch-dest",
    SEC_FETCH_MODE "sec-fetch-mode",
    SEC_FETCH_SITE "sec-fetch-site",
    SEC_FETCH_USER "sec-fetch-user",
    SEC_GPC "sec-gpc",
    SEC_PURPOSE "sec-purpose",
    SEC_WEBSOCKET_KEY "sec-websocket-key",
    TE "te",
    TOLLGATE_ANSWER "tollgate-answer",
    TRANSFER_ENCODING "transfer-encoding",
    UPGRADE "upgrade",
    UPGRADE_INSECURE_REQUESTS "upgrade-insecure-requests",
    USER_AGENT "user-agent",
    VIA "via",
    X_ENVOY_EXTERNAL_ADDRESS "x-envoy-external-address",
    X_FIREFOX_AI "x-firefox-ai",
    X_FORWARDED_FOR "x-forwarded-for",
    X_FORWARDED_HOST "x-forwarded-host",
    X_FORWARDED_METHOD "x-forwarded-method",
    X_FORWARDED_PORT "x-forwarded-port",
    X_FORWARDED_PROTO "x-forwarded-proto",
    X_FORWARDED_SERVER "x-forwarded-server",
    X_FORWARDED_URI "x-forwarded-uri",
    X_MOZ "x-moz",
    X_ORIGINAL_METHOD "x-original-method",
    X_ORIGINAL_URI "x-original-uri",
    X_ORIGINAL_URL "x-original-url",
    X_REAL_IP "x-real-ip",
    X_REQUEST_ID "x-request-id",
    X_REQUESTED_WITH "x-requested-with",
    X_SCHEME "x-scheme",
    X_TOLLGATE_JA4 "x-tollgate-ja4",
    X_TOLLGATE_LEARN "x-tollgate-learn",
    X_TOLLGATE_TOKEN "x-tollgate-token",
    X_TOLLGATE_VERDICT "x-tollgate-verdict",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_name_is_found_in_any_case_and_no_other() {
        for (number, text) in TEXTS.iter().enumerate() {
            let found = [text.to_string(), text.to_uppercase()].map(|text| Name::from(&*text).known());
            assert_eq!(found, [Some(KnownName(number as u8)); 2], "{text}");
            for at in 0..text.len() {
                let mut other = text.as_bytes().to_vec();
                other[at] ^= 1;
                assert_ne!(Name::from(&*other).known(), Some(KnownName(number as u8)), "{text} at {at}");
            }
        }
        for other in [String::new(), "x".to_owned(), "x".repeat(255), "te".repeat(129), "dnt".repeat(86)] {
            assert_eq!(Name::from(&*other).known(), None, "{other}");
        }
    }

    #[test]
    fn known_names_are_ones_that_count() {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(TEXTS.iter().all(|text| text.bytes().all(plain)));
    }
}
