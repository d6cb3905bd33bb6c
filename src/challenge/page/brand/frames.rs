//! Which sites may show our pages in a frame: the `frame-ancestors` of their content security policy.

/// The sources of `frame-ancestors`. Only texts that cannot end the directive get in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FrameAncestors(String);

impl Default for FrameAncestors {
    fn default() -> Self {
        Self("'self'".to_owned())
    }
}

impl FrameAncestors {
    /// Reads `self`, `none`, or origins such as `https://portal.example` or `https://*.example.org`; `none` stands alone.
    pub fn parse<'t>(sources: impl IntoIterator<Item = &'t str>) -> Result<Self, String> {
        let sources: Vec<_> = sources.into_iter().map(source).collect::<Result<_, _>>()?;
        match sources.as_slice() {
            [] => Ok(Self::default()),
            [_, _, ..] if sources.iter().any(|source| source == "'none'") => {
                Err("`none` stands alone: together with others it means nothing".to_owned())
            }
            all => Ok(Self(all.join(" "))),
        }
    }

    /// The directive's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn source(text: &str) -> Result<String, String> {
    if matches!(text, "self" | "none") {
        return Ok(format!("'{text}'"));
    }
    let origin = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = origin.map(|rest| rest.strip_prefix("*.").unwrap_or(rest));
    let (host, port) =
        host.map_or(("", None), |h| h.split_once(':').map_or((h, None), |(h, p)| (h, Some(p))));
    let label = |l: &str| !l.is_empty() && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let port = port.is_none_or(|p| p == "*" || p.parse::<u16>().is_ok_and(|n| n > 0 && !p.starts_with('+')));
    if host.split('.').all(label) && port {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(format!(
            "`{text}` is no site that may show the pages in a frame; write self, none, or an origin such as https://portal.example"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_words_or_origins() {
        let rows: &[(&[&str], &str)] = &[
            (&[], "'self'"),
            (&["self"], "'self'"),
            (&["none"], "'none'"),
            (&["self", "https://Portal.example"], "'self' https://portal.example"),
            (
                &["https://*.example.org:8443", "http://localhost:*"],
                "https://*.example.org:8443 http://localhost:*",
            ),
        ];
        for (sources, want) in rows {
            assert_eq!(FrameAncestors::parse(sources.iter().copied()).unwrap().as_str(), *want);
        }
    }

    #[test]
    fn nothing_that_could_end_the_directive_gets_in() {
        for bad in [
            "",
            "*",
            "'self'",
            "portal.example",
            "https://",
            "https://*",
            "https://a/b",
            "https://a b",
            "https://a;script-src *",
            "https://a,b",
            "https://a:0",
            "https://a:x",
            "https://a\r\nb",
            "https://ä.example",
            "javascript:x",
            "data:",
        ] {
            assert!(FrameAncestors::parse([bad]).is_err(), "{bad}");
        }
        assert!(FrameAncestors::parse(["none", "self"]).unwrap_err().contains("alone"));
    }
}
