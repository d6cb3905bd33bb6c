//! The policy: the ordered rules, compiled. Pure: no I/O on a request, no clock.
