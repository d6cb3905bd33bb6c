//! Functions that ask for names and addresses. They read what the caller knows, and note what is missing.

use std::net::IpAddr;

use super::run::Run;
use super::stop::{Fault, Stop};
use super::value::{List, Text, Value};
use crate::policy::facts::{Answer, Lookup};

/// The most names of one address that count, and so the most forward lookups one check may ask for: whoever owns an
/// address may give it any number of names.
const MAX_NAMES: usize = 16;

/// The longest name of a host, in bytes (RFC 1035).
const MAX_NAME: usize = 253;

impl<'a> Run<'a, '_> {
    /// The names of an address, without their final dots.
    fn names(&mut self, address: &str) -> Result<impl Iterator<Item = &'a str> + Clone + use<'a>, Stop> {
        // What is no address, or no evidence of one, has names that nobody can find out.
        let address: IpAddr = address.parse().map_err(|_| Stop::Unknown)?;
        let Some(facts) = self.facts() else { return Err(Fault::Type.into()) };
        match facts.names(address) {
            Some(Answer::Names(names)) => {
                Ok(names.iter().take(MAX_NAMES).map(|n| n.strip_suffix('.').unwrap_or(n)))
            }
            Some(_) => Err(Stop::Unknown),
            None => Err(self.need(Lookup::Reverse(address))),
        }
    }

    /// The addresses of a name.
    fn addresses(&mut self, name: &str) -> Result<&'a [IpAddr], Stop> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let fit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fit) {
            return Ok(&[]);
        }
        let Some(facts) = self.facts() else { return Err(Fault::Type.into()) };
        match facts.addresses(&name) {
            Some(Answer::Addresses(addresses)) => Ok(addresses),
            Some(_) => Err(Stop::Unknown),
            None => Err(self.need(Lookup::Forward(name))),
        }
    }

    pub(super) fn reverse_dns(&mut self, address: &str) -> Result<Value<'a>, Stop> {
        let names = self.names(address)?;
        Ok(texts(names.map(|n| Value::Text(Text::Borrowed(n)))))
    }

    pub(super) fn lookup_host(&mut self, name: &str) -> Result<Value<'a>, Stop> {
        if let Ok(address) = name.parse::<IpAddr>() {
            return Ok(texts([Value::owned(address.to_string())]));
        }
        let addresses = self.addresses(name)?;
        Ok(texts(addresses.iter().take(MAX_NAMES).map(|a| Value::owned(a.to_string()))))
    }

    /// Whether an address has a name that leads back to it. With a pattern some name must match it, and then any name
    /// may lead back; without one, an address that has no name passes, as in Anubis.
    pub(super) fn verify(
        &mut self,
        address: &str,
        mut matches: Option<impl FnMut(&str) -> bool>,
    ) -> Result<bool, Stop> {
        let names = self.names(address)?;
        let passes = matches.as_mut().map(|matches| names.clone().any(matches));
        if passes == Some(false) {
            return Ok(false);
        }
        if passes.is_none() && names.clone().next().is_none() {
            return Ok(true);
        }
        let mark = self.mark();
        let mut stop = None;
        for name in names {
            match self.addresses(name) {
                Ok(found) if found.iter().any(|a| a.to_string() == address) => {
                    self.forget(mark);
                    return Ok(true);
                }
                Ok(_) => {}
                Err(reason) => stop = Some(reason.or(stop)),
            }
        }
        stop.map_or(Ok(false), Err)
    }
}

fn texts<'a>(items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
    Value::List(List::Values(items.into_iter().collect()))
}

/// An address in the order that names of the reverse zone have: `1.2.3.4` is `4.3.2.1`, and IPv6 is 32 digits.
pub(super) fn arpa(address: &str) -> Result<String, Stop> {
    let address: IpAddr = address.parse().map_err(|_| Fault::Argument)?;
    let parts: Vec<String> = match address {
        IpAddr::V4(v4) => v4.octets().iter().rev().map(u8::to_string).collect(),
        IpAddr::V6(v6) => {
            let nibbles = v6.octets().into_iter().rev().flat_map(|b| [b & 15, b >> 4]);
            nibbles.map(|n| format!("{n:x}")).collect()
        }
    };
    Ok(parts.join("."))
}
