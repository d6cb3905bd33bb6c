//! The databases of networks: the number of an address's network, and its country.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use maxminddb::{MaxMindDbError, PathElement, Reader};
use serde::Deserialize;
use thiserror::Error;

use crate::request::is_public;

/// The largest file that is read, in bytes; the largest that are sold have some hundred megabytes.
const MAX_FILE: u64 = 1 << 30;

/// How many records are looked at to tell whether a file is of the right kind: a few have no country at all.
const SAMPLES: usize = 1000;

/// What a database is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Field {
    /// The number of the network.
    Asn,
    /// The country.
    Country,
}

impl Field {
    /// Where a record keeps it.
    const fn path(self) -> &'static [PathElement<'static>] {
        match self {
            Self::Asn => &[PathElement::Key("autonomous_system_number")],
            Self::Country => &[PathElement::Key("country"), PathElement::Key("iso_code")],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Asn => "autonomous_system_number",
            Self::Country => "country.iso_code",
        }
    }
}

/// Why a database does not load.
#[derive(Debug, Error)]
#[error("cannot load the database `{}`: {reason}", path.display())]
pub struct LoadError {
    /// What the file was to tell.
    pub field: Field,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
pub enum Reason {
    /// It is no database, or only the beginning of one.
    #[error("{0}; it may be no MaxMind DB file, or cut off: fetch it again")]
    Broken(#[from] MaxMindDbError),
    /// It is a database of something else.
    #[error("it is a `{found}` database and has no `{wanted}` in its records")]
    Kind {
        /// What the file says of itself.
        found: String,
        /// Where a record was to keep what is asked for.
        wanted: &'static str,
    },
    /// It is larger than any database.
    #[error("it is larger than {} MiB", MAX_FILE >> 20)]
    Large,
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// What is known about networks. The default knows nothing.
#[derive(Default)]
pub struct Databases {
    asn: Option<Reader<Vec<u8>>>,
    country: Option<Reader<Vec<u8>>>,
}

impl Databases {
    /// Reads the files into memory: as many bytes as they are long. Reports what is wrong with each of them.
    pub fn load(asn: Option<&Path>, country: Option<&Path>) -> Result<Self, Vec<LoadError>> {
        let mut errors = Vec::new();
        let mut open = |field: Field, path: Option<&Path>| {
            let path = path?;
            read(field, path)
                .map_err(|reason| errors.push(LoadError { field, path: path.to_owned(), reason }))
                .ok()
        };
        let databases = Self { asn: open(Field::Asn, asn), country: open(Field::Country, country) };
        if errors.is_empty() { Ok(databases) } else { Err(errors) }
    }

    /// The number of the network that announces an address; `None` where no database knows it, the address is not
    /// public, or the record is broken. Allocates nothing.
    pub fn asn(&self, address: IpAddr) -> Option<u32> {
        told(self.asn.as_ref()?, address, Field::Asn)
    }

    /// The country of an address in upper case; `None` as for [`Databases::asn`], or where it is not two letters.
    /// Allocates nothing.
    pub fn country(&self, address: IpAddr) -> Option<[u8; 2]> {
        letters(told(self.country.as_ref()?, address, Field::Country)?)
    }
}

impl fmt::Debug for Databases {
    /// Shows which databases there are; their bytes help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |d: &Option<Reader<Vec<u8>>>| d.as_ref().map(|d| d.metadata().database_type.clone());
        f.debug_struct("Databases")
            .field("asn", &kind(&self.asn))
            .field("country", &kind(&self.country))
            .finish()
    }
}

/// What a database tells of an address. A broken record tells nothing.
fn told<'d, T: Deserialize<'d>>(database: &'d Reader<Vec<u8>>, address: IpAddr, field: Field) -> Option<T> {
    let address = address.to_canonical();
    let covered = address.is_ipv4() || database.metadata().ip_version == 6;
    if !covered || !is_public(address) {
        return None;
    }
    database.lookup(address).ok()?.decode_path(field.path()).ok()?
}

fn letters(code: &str) -> Option<[u8; 2]> {
    let code: [u8; 2] = code.as_bytes().try_into().ok()?;
    code.iter().all(u8::is_ascii_alphabetic).then(|| code.map(|letter| letter.to_ascii_uppercase()))
}

fn read(field: Field, path: &Path) -> Result<Reader<Vec<u8>>, Reason> {
    let mut bytes = Vec::new();
    if File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)? as u64 > MAX_FILE {
        return Err(Reason::Large);
    }
    let database = Reader::from_source(bytes)?;
    if !tells(&database, field)? {
        let found = database.metadata().database_type.escape_debug().to_string();
        return Err(Reason::Kind { found, wanted: field.name() });
    }
    Ok(database)
}

/// Whether a database tells what it is asked for: a file of another kind would silently match nothing.
fn tells(database: &Reader<Vec<u8>>, field: Field) -> Result<bool, MaxMindDbError> {
    for record in database.networks(Default::default())?.take(SAMPLES) {
        let record = record?;
        let told = match field {
            Field::Asn => record.decode_path::<u32>(field.path()).is_ok_and(|asn| asn.is_some()),
            Field::Country => record.decode_path::<&str>(field.path()).is_ok_and(|c| c.is_some()),
        };
        if told {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
