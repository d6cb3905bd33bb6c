//! The clearance: seal and open the signed cookie that an accepted answer buys.
