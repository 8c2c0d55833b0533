//! Who may ask: only a page of this dashboard, on this machine, that knows the token. Must not know what is asked for.
//!
//! The token is the first part of every address. A page elsewhere that guesses the port still lacks it (and is told
//! nothing about why); one that rebinds its own name to this machine fails the check of the Host header.

use axum::http::{HeaderMap, Method, StatusCode, header};

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The Host header names something else than this dashboard.
    Host,
    /// Another page sent it.
    Origin,
    /// The address lacks the token.
    Token,
    /// Something is to be changed, and it is not sure that a page of this dashboard asks for it.
    Unsure,
}

impl Refusal {
    /// Status of the answer.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin | Self::Unsure => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::NOT_FOUND,
        }
    }
}

/// What every request is held against.
#[derive(Clone, Debug)]
pub struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// A guard for the dashboard at `port` with a fresh random token.
    pub fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self { port, token: digits.concat() })
    }

    /// The address to open.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// May this request be answered?
    pub fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let host = text(header::HOST).unwrap_or_default();
        if !hosts.iter().any(|h| h == host) {
            return Err(Refusal::Host);
        }
        let own = format!("http://{host}");
        let origin = text(header::ORIGIN);
        if origin.is_some_and(|o| o != own) {
            return Err(Refusal::Origin);
        }
        if headers.get("sec-fetch-site").is_some_and(|s| s != "same-origin" && s != "none") {
            return Err(Refusal::Origin);
        }
        let given = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if !same(given.as_bytes(), self.token.as_bytes()) {
            return Err(Refusal::Token);
        }
        // Browsers send an Origin with everything that changes something.
        if method != Method::GET && method != Method::HEAD && origin.is_none() {
            return Err(Refusal::Unsure);
        }
        Ok(())
    }
}

/// Equal, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, path: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let guard = Guard { port: 4000, token: "0123456789abcdef".into() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        guard.check(method, path, &map)
    }

    const GOOD: (&str, &str) = ("host", "127.0.0.1:4000");

    #[test]
    fn a_page_of_the_dashboard_is_answered() {
        assert_eq!(check(&Method::GET, "/0123456789abcdef/", &[GOOD]), Ok(()));
        assert_eq!(check(&Method::GET, "/0123456789abcdef/run/a-1/", &[("host", "localhost:4000")]), Ok(()));
        let own = ("origin", "http://127.0.0.1:4000");
        assert_eq!(check(&Method::POST, "/0123456789abcdef/run/a-1/stop", &[GOOD, own]), Ok(()));
    }

    #[test]
    fn other_hosts_are_refused() {
        for host in ["evil.example:4000", "127.0.0.1:4001", "127.0.0.1", "127.0.0.1:4000.evil.example", ""] {
            assert_eq!(check(&Method::GET, "/0123456789abcdef/", &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(check(&Method::GET, "/0123456789abcdef/", &[]), Err(Refusal::Host));
    }

    #[test]
    fn other_origins_are_refused() {
        for origin in
            ["http://evil.example", "https://127.0.0.1:4000", "http://127.0.0.1:4001", "null", "http://localhost:4000"]
        {
            assert_eq!(
                check(&Method::GET, "/0123456789abcdef/", &[GOOD, ("origin", origin)]),
                Err(Refusal::Origin),
                "{origin}"
            );
        }
        assert_eq!(
            check(&Method::GET, "/0123456789abcdef/", &[GOOD, ("sec-fetch-site", "cross-site")]),
            Err(Refusal::Origin)
        );
        assert_eq!(check(&Method::POST, "/0123456789abcdef/run/a-1/stop", &[GOOD]), Err(Refusal::Unsure));
    }

    #[test]
    fn the_token_is_needed_whole_and_first() {
        for path in [
            "/",
            "",
            "/0123456789abcde/",
            "/0123456789abcdef0/",
            "/x/0123456789abcdef/",
            "/run/a-1/",
            "//evil/0123456789abcdef",
        ] {
            assert_eq!(check(&Method::GET, path, &[GOOD]), Err(Refusal::Token), "{path}");
        }
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (a, b) = (Guard::new(1).unwrap(), Guard::new(1).unwrap());
        assert_eq!(a.token.len(), 32);
        assert_ne!(a.token, b.token);
        assert_eq!(a.address(), format!("http://127.0.0.1:1/{}/", a.token));
    }
}
