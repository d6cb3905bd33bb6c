//! The clearance: seal and open the signed cookie that an accepted answer buys.
//!
//! A clearance is a pure function of the challenge token and two configured lives: the same bytes in every tab, on every
//! replica, after any restart. Nothing is stored. Which rule asks for one is for the gate; what a visitor does with one is counted in `memory`.

mod cookie;
mod seal;

pub use cookie::{Cookie, CookieSettings, NameError, SameSite, Slot};
pub use seal::{Clearance, Lives, Sealed, claimed, issued, open, seal};
