//! What a browser sends, for benches that need one.

/// The agent.
pub(crate) const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";

/// What Chrome sends through a proxy, but for the agent.
pub(crate) const HEADERS: [(&str, &str); 17] = [
    ("cache-control", "max-age=0"),
    ("sec-ch-ua", "\"Chromium\";v=\"153\", \"Not)A;Brand\";v=\"99\", \"Google Chrome\";v=\"153\""),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", "\"Linux\""),
    ("upgrade-insecure-requests", "1"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("sec-fetch-site", "none"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,de;q=0.8"),
    ("priority", "u=0, i"),
    ("x-forwarded-for", "198.51.100.7"),
    ("x-forwarded-proto", "https"),
    ("x-request-id", "2a6e1c0e-6f1c-4a50-9c56-0f5a7f6b7e0d"),
    ("x-envoy-expected-rq-timeout-ms", "15000"),
];
