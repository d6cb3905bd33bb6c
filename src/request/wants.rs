//! What kind of answer a requester can show: only a browser that navigates can run a page.

use super::{Request, name};

/// The form of a refusal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wants {
    /// Nothing but the headers: an image, audio, video, a WebSocket, or a page that is fetched before anybody asks for it.
    Empty,
    /// A page for a person.
    Page,
    /// `application/problem+json`, for a program.
    Problem,
    /// Short plain text: a gRPC client gets it as its `grpc-message`.
    Text,
}

impl Wants {
    /// Judges by what browsers say about a request (Fetch Metadata), else by `Accept`. Nothing here changes the
    /// verdict, so a lie gains nothing but an answer that its sender cannot use.
    pub fn of(request: &Request<'_>) -> Self {
        let header = |name| request.header(name).unwrap_or_default();
        if header(name::CONTENT_TYPE).starts_with(b"application/grpc") {
            return Self::Text;
        }
        let (mode, destination, accept) =
            (header(name::SEC_FETCH_MODE), header(name::SEC_FETCH_DEST), header(name::ACCEPT));
        // Over HTTP/2, and through proxies that keep `Upgrade` to themselves, the key or the mode tells.
        let upgrade = header(name::UPGRADE);
        if !upgrade.is_empty() && !upgrade.eq_ignore_ascii_case(b"h2c")
            || &*mode == b"websocket"
            || request.headers.contains(name::SEC_WEBSOCKET_KEY)
        {
            return Self::Empty;
        }
        // A refused prefetch is thrown away, and what is asked for later is asked for anew (Chromium, Safari; older Firefox).
        let early = [name::SEC_PURPOSE, name::PURPOSE, name::X_MOZ].map(header);
        if early.iter().any(|purpose| purpose.trim_ascii_start().starts_with(b"prefetch")) {
            return Self::Empty;
        }
        match &*destination {
            b"image" | b"audio" | b"video" | b"track" => return Self::Empty,
            b"document" | b"iframe" | b"frame" if &*mode == b"navigate" => return Self::Page,
            _ => {}
        }
        let described = request
            .headers
            .iter()
            .any(|h| h.name.len() > 10 && h.name[..10].eq_ignore_ascii_case(b"sec-fetch-"));
        let place = |kind: &[u8]| accept.windows(kind.len()).position(|w| w.eq_ignore_ascii_case(kind));
        // A feed reader that would take a page as well reads feeds.
        let feed = ["application/atom+xml", "application/feed+json", "application/rss+xml"]
            .iter()
            .filter_map(|k| place(k.as_bytes()))
            .min();
        let agent = header(name::USER_AGENT);
        let html = place(b"text/html").is_some_and(|html| feed.is_none_or(|feed| html < feed))
            || &*accept == b"*/*" && TAKE_ANYTHING.iter().any(|text_browser| agent.starts_with(text_browser));
        match () {
            () if !described && html => Self::Page,
            () if !described && accept.starts_with(b"image/") => Self::Empty,
            () => Self::Problem,
        }
    }
}

/// How the agents of text browsers begin that ask for `*/*` as programs do.
const TAKE_ANYTHING: [&[u8]; 2] = [b"ELinks/", b"Links ("];

#[cfg(test)]
mod tests {
    use super::super::{Headers, Parts};
    use super::*;

    #[test]
    fn only_a_navigation_gets_a_page() {
        let rows: &[(&[(&str, &str)], Wants)] = &[
            (&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")], Wants::Page),
            (&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], Wants::Page),
            (&[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")], Wants::Page),
            (
                &[("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty"), ("accept", "text/html")],
                Wants::Problem,
            ),
            (&[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")], Wants::Empty),
            (&[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")], Wants::Problem),
            (&[("accept", "image/webp,*/*")], Wants::Empty),
            (&[("accept", "application/rss+xml")], Wants::Problem),
            (&[("upgrade", "websocket"), ("sec-fetch-mode", "websocket")], Wants::Empty),
            (&[("sec-websocket-key", "x")], Wants::Empty),
            (&[("sec-fetch-mode", "websocket"), ("sec-fetch-dest", "websocket")], Wants::Empty),
            (&[("upgrade", "h2c"), ("accept", "text/html")], Wants::Page),
            (
                &[
                    ("sec-purpose", "prefetch;prerender"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "document"),
                ],
                Wants::Empty,
            ),
            (&[("purpose", "prefetch"), ("accept", "text/html")], Wants::Empty),
            (&[("x-moz", "prefetch"), ("accept", "text/html")], Wants::Empty),
            (
                &[("accept", "application/atom+xml, application/rss+xml;q=0.9, text/html;q=0.5")],
                Wants::Problem,
            ),
            (&[("accept", "text/html, application/rss+xml;q=0.5")], Wants::Page),
            (
                &[("accept", "*/*"), ("user-agent", "Links (2.28; Linux x86_64; GNU C 12.2; text)")],
                Wants::Page,
            ),
            (&[("accept", "*/*"), ("user-agent", "curl/8.5.0")], Wants::Problem),
            (&[("content-type", "application/grpc+proto"), ("accept", "text/html")], Wants::Text),
            (&[], Wants::Problem),
        ];
        for (lines, want) in rows {
            let headers: Headers<'_> = lines.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
            let parts =
                Parts { method: b"GET", target: b"/", host: b"h", scheme: b"https", client: None, headers };
            assert_eq!(Wants::of(&Request::new(parts).unwrap()), *want, "{lines:?}");
        }
    }
}
