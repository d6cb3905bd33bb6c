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

/// The settings, compiled: both names and what follows the age.
#[derive(Clone, Debug)]
pub struct Cookie {
    plain: Form,
    secure: Form,
    always_secure: bool,
}

#[derive(Clone, Debug)]
struct Form {
    name: String,
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
                attributes: format!("; HttpOnly; SameSite={}", plain.as_str()),
            },
            secure: Form {
                name: format!("__Host-{name}"),
                attributes: format!("; Secure; HttpOnly; SameSite={}{chips}", secure.as_str()),
            },
        })
    }

    /// The one name that counts under this scheme: a plain-HTTP attacker can plant the other.
    pub fn name(&self, https: bool) -> &str {
        &self.form(https).name
    }

    /// Both names: what is cut out of the `Cookie` header on its way to the app.
    pub fn names(&self) -> [&str; 2] {
        [&self.secure.name, &self.plain.name]
    }

    /// The value of the one `Set-Cookie` header that hands out a clearance. `max_age` is in seconds.
    pub fn header(&self, https: bool, sealed_text: &str, max_age: u64) -> String {
        let Form { name, attributes } = self.form(https);
        format!("{name}={sealed_text}; Path=/; Max-Age={max_age}{attributes}")
    }

    const fn form(&self, https: bool) -> &Form {
        if https || self.always_secure { &self.secure } else { &self.plain }
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
        assert_eq!(Cookie::compile(&settings).unwrap().header(https, "V", 7), want);
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
        assert_eq!(cookie.name(false), "__Host-tollgate");
        assert_eq!(cookie.header(false, "V", 7), cookie.header(true, "V", 7));
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
        assert_eq!(named("gate_1").unwrap().names(), ["__Host-gate_1", "gate_1"]);
    }
}
