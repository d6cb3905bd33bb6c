//! The cookie that carries a clearance: its name by scheme, and its attributes.
//! Never a `Domain`: the cookie belongs to the one host that set it.

use thiserror::Error;

/// How the cookie is named and sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CookieSettings {
    /// The name under plain HTTP; under HTTPS it is preceded by `__Host-`.
    pub name: String,
    /// Which cross-site requests carry the cookie.
    pub same_site: SameSite,
    /// Whether frames on other sites get a jar of their own (CHIPS). For sites that are served over HTTPS only.
    pub partitioned: bool,
    /// Whether every visitor comes over HTTPS, whatever the proxy says of the scheme.
    pub always_secure: bool,
}

impl Default for CookieSettings {
    fn default() -> Self {
        Self {
            name: "tollgate".to_owned(),
            same_site: SameSite::Lax,
            partitioned: false,
            always_secure: false,
        }
    }
}

/// Which cross-site requests carry the cookie (RFC 6265bis).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SameSite {
    /// Navigations.
    #[default]
    Lax,
    /// All of them. Browsers obey it under HTTPS only.
    None,
    /// None of them: a visitor who follows a link from elsewhere is challenged anew.
    Strict,
}

impl SameSite {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Lax => "Lax",
            Self::None => "None",
            Self::Strict => "Strict",
        }
    }
}

/// Which of the cookies a visitor gets and shows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Slot {
    /// Whether the visit is over HTTPS.
    pub https: bool,
    /// Whether clearances are bound to networks, and this visitor's is one of IPv6. Who comes now over IPv4 and now over IPv6,
    /// as browsers do, then holds a clearance for each, and neither pushes the other out of its place.
    pub ipv6: bool,
}

/// The settings, compiled: the names and what follows the age.
#[derive(Clone, Debug)]
pub struct Cookie {
    plain: Form,
    secure: Form,
    always_secure: bool,
}

#[derive(Clone, Debug)]
struct Form {
    name: String,
    /// The name for addresses of IPv6, where they have one of their own.
    ipv6: String,
    attributes: String,
}

impl Cookie {
    /// Compiles the settings, or says that the name cannot be one.
    pub fn compile(settings: &CookieSettings) -> Result<Self, NameError> {
        let CookieSettings { name, same_site, partitioned, always_secure } = settings;
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let prefixed =
            ["__host-", "__secure-", "__http-"].iter().any(|p| name.to_ascii_lowercase().starts_with(p));
        if name.is_empty() || name.len() > MAX_NAME || prefixed || !name.bytes().all(token) {
            return Err(NameError(name.clone()));
        }
        // Without `Secure`, browsers throw `SameSite=None` and `Partitioned` cookies away.
        let plain = if *same_site == SameSite::None || *partitioned { SameSite::Lax } else { *same_site };
        let (secure, chips) = if *partitioned { (SameSite::None, "; Partitioned") } else { (*same_site, "") };
        Ok(Self {
            always_secure: *always_secure,
            plain: Form {
                name: name.clone(),
                ipv6: format!("{name}-6"),
                attributes: format!("; HttpOnly; SameSite={}", plain.as_str()),
            },
            secure: Form {
                name: format!("__Host-{name}"),
                ipv6: format!("__Host-{name}-6"),
                attributes: format!("; Secure; HttpOnly; SameSite={}{chips}", secure.as_str()),
            },
        })
    }

    /// The one name that counts there: a plain-HTTP attacker can plant the other.
    pub fn name(&self, slot: Slot) -> &str {
        self.form(slot.https).name(slot)
    }

    /// Every name: what is cut out of the `Cookie` header on its way to the app.
    pub fn names(&self) -> [&str; 4] {
        [&self.secure.name, &self.plain.name, &self.secure.ipv6, &self.plain.ipv6]
    }

    /// The value of the one `Set-Cookie` header that hands out a clearance. `max_age` is in seconds.
    pub fn header(&self, slot: Slot, sealed_text: &str, max_age: u64) -> String {
        let form = self.form(slot.https);
        format!("{}={sealed_text}; Path=/; Max-Age={max_age}{}", form.name(slot), form.attributes)
    }

    const fn form(&self, https: bool) -> &Form {
        if https || self.always_secure { &self.secure } else { &self.plain }
    }
}

impl Form {
    fn name(&self, slot: Slot) -> &str {
        if slot.ipv6 { &self.ipv6 } else { &self.name }
    }
}

/// The longest name. Every request carries it, so it has to stay short.
const MAX_NAME: usize = 64;

/// A text that cannot name the cookie.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error(
    "`{0}` cannot name the cookie; use 1 to {MAX_NAME} letters, digits and -_. without the prefix `__Host-` or `__Secure-`, which is added under https"
)]
pub struct NameError(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(same_site: SameSite, partitioned: bool, https: bool, want: &str) {
        let settings = CookieSettings { same_site, partitioned, ..CookieSettings::default() };
        assert_eq!(Cookie::compile(&settings).unwrap().header(Slot { https, ipv6: false }, "V", 7), want);
    }

    #[test]
    fn the_header_is_exact_under_both_schemes() {
        use SameSite::{Lax, None, Strict};
        check(Lax, false, true, "__Host-tollgate=V; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=Lax");
        check(Lax, false, false, "tollgate=V; Path=/; Max-Age=7; HttpOnly; SameSite=Lax");
        check(Strict, false, true, "__Host-tollgate=V; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=Strict");
        check(Strict, false, false, "tollgate=V; Path=/; Max-Age=7; HttpOnly; SameSite=Strict");
        check(None, false, true, "__Host-tollgate=V; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=None");
        check(None, false, false, "tollgate=V; Path=/; Max-Age=7; HttpOnly; SameSite=Lax");
        check(
            Lax,
            true,
            true,
            "__Host-tollgate=V; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=None; Partitioned",
        );
        check(Lax, true, false, "tollgate=V; Path=/; Max-Age=7; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn where_all_is_https_the_proxys_word_does_not_matter() {
        let settings = CookieSettings { always_secure: true, ..CookieSettings::default() };
        let cookie = Cookie::compile(&settings).unwrap();
        let (plain, secure) = (Slot::default(), Slot { https: true, ipv6: false });
        assert_eq!(cookie.name(plain), "__Host-tollgate");
        assert_eq!(cookie.header(plain, "V", 7), cookie.header(secure, "V", 7));
    }

    #[test]
    fn a_name_cannot_break_the_header() {
        let named = |name: &str| {
            Cookie::compile(&CookieSettings { name: name.to_owned(), ..CookieSettings::default() })
        };
        for name in [
            "",
            "a b",
            "a;b",
            "a=b",
            "a,b",
            "a\r\nb",
            "ä",
            "__Host-x",
            "__host-x",
            "__Secure-x",
            &"x".repeat(65),
        ] {
            assert_eq!(named(name).err(), Some(NameError(name.to_owned())));
        }
        assert_eq!(
            named("gate_1").unwrap().names(),
            ["__Host-gate_1", "gate_1", "__Host-gate_1-6", "gate_1-6"]
        );
        let slot = Slot { https: true, ipv6: true };
        assert_eq!(named("gate_1").unwrap().name(slot), "__Host-gate_1-6");
        assert!(named("gate_1").unwrap().header(slot, "V", 7).starts_with("__Host-gate_1-6=V; Path=/; "));
    }
}
