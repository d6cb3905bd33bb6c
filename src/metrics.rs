//! Counters and their names. No label value is ever chosen by a visitor.
