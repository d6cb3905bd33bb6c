//! A set of networks that answers by binary search, however many there are.

use std::net::IpAddr;

use ipnet::IpNet;

/// Ranges of addresses, sorted and apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Networks {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Networks {
    /// The union of some networks.
    pub(super) fn new(nets: &[IpNet]) -> Self {
        let mut set = Self::default();
        for net in nets {
            match net {
                IpNet::V4(net) => set.v4.push((net.network().into(), net.broadcast().into())),
                IpNet::V6(net) => set.v6.push((net.network().into(), net.broadcast().into())),
            }
        }
        join(&mut set.v4);
        join(&mut set.v6);
        set
    }

    /// Whether an address lies in one of them.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(a) => holds(&self.v4, a.into()),
            IpAddr::V6(a) => holds(&self.v6, a.into()),
        }
    }
}

fn join<T: Copy + Ord>(ranges: &mut Vec<(T, T)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let overlap = next.0 <= kept.1;
        if overlap {
            kept.1 = kept.1.max(next.1);
        }
        overlap
    });
}

fn holds<T: Copy + Ord>(ranges: &[(T, T)], address: T) -> bool {
    let after = ranges.partition_point(|r| r.0 <= address);
    after > 0 && address <= ranges[after - 1].1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_set_holds_what_its_networks_hold(
            nets in prop::collection::vec((any::<u32>(), 0u8..=32), 0..8),
            address: u32,
        ) {
            let nets: Vec<IpNet> = nets
                .into_iter()
                .map(|(a, len)| IpNet::new(IpAddr::V4(a.into()), len).unwrap().trunc())
                .collect();
            let set = Networks::new(&nets);
            let edges = nets.iter().flat_map(|n| [n.network(), n.broadcast()]);
            for address in edges.chain([IpAddr::V4(address.into())]) {
                prop_assert_eq!(set.contains(address), nets.iter().any(|n| n.contains(&address)));
            }
        }
    }
}
