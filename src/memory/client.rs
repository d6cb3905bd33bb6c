//! What is kept of one client: an address, or the /64 of one.

use super::file::Kept;
use super::reputation::Reputation;
use super::rhythm::Rhythm;
use super::shared::Misdeeds;
use super::sight::{Sight, What};
use super::sketch::Distinct;
use super::window::{Count, Window};
use super::{Deed, Fate};
use crate::behaviour::{Figure, Figures, Probe};
use crate::clock::Timestamp;

/// One client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Client {
    requests: Count<60_000>,
    documents: Count<10_000>,
    lately: Window<Leaf, 150_000>,
    probes: Window<Probed, 1_800_000>,
    rhythm: Rhythm,
    reputation: Reputation,
    /// The last number counted up, what stood around it, and how often in a row.
    number: u32,
    stem: u32,
    steps: u16,
    /// When it last went into a trap, in seconds.
    trapped: u32,
}

/// Two and a half minutes.
#[derive(Clone, Copy, Debug, Default)]
struct Leaf {
    documents: u16,
    assets: u16,
    refused: u16,
    challenged: u16,
    answered: u16,
    cleared: u16,
    paths: Distinct<4>,
    agents: Distinct<1>,
    shapes: Distinct<1>,
}

/// Half an hour.
#[derive(Clone, Copy, Debug, Default)]
struct Probed {
    never: u16,
    /// One bit a product.
    products: u16,
    traps: u16,
}

impl Client {
    /// Takes in a request and what became of it.
    pub(super) fn record(&mut self, sight: &Sight, deed: Deed, now: Timestamp) {
        self.reputation.set_back(now);
        self.requests.add(now);
        let leaf = self.lately.now(now);
        leaf.agents.add(sight.agent);
        leaf.shapes.add(sight.shape);
        match sight.what {
            What::Asset => add(&mut leaf.assets),
            What::Document => {
                add(&mut leaf.documents);
                leaf.paths.add(sight.target);
            }
            What::Other => {}
        }
        let points = match deed.fate {
            Fate::Passed => 0.0,
            Fate::Cleared => {
                add(&mut leaf.cleared);
                0.0
            }
            Fate::Challenged => {
                add(&mut leaf.challenged);
                add(&mut leaf.refused);
                0.5
            }
            Fate::Denied => {
                add(&mut leaf.refused);
                2.0
            }
            Fate::Limited => {
                add(&mut leaf.refused);
                1.0
            }
        };
        if sight.what == What::Document {
            self.documents.add(now);
            self.rhythm.beat(now);
            self.step(sight);
        }
        let points = match deed.probe {
            None => points,
            Some(Probe::Never) => {
                add(&mut self.probes.now(now).never);
                points + 10.0
            }
            Some(Probe::Product(product)) => {
                self.probes.now(now).products |= 1 << (product % 16);
                points
            }
        };
        if points > 0.0 {
            self.reputation.add(points, now);
        }
        if deed.trap {
            self.trapped(now);
        }
    }

    /// Takes note of something that only robots follow.
    pub(super) fn trapped(&mut self, now: Timestamp) {
        add(&mut self.probes.now(now).traps);
        self.trapped = u32::try_from(now.seconds()).unwrap_or(u32::MAX);
        self.reputation.add(10.0, now);
    }

    /// Takes note of an answer that was accepted, which makes good for sixteen challenges.
    pub(super) fn answered(&mut self, now: Timestamp) {
        add(&mut self.lately.now(now).answered);
        self.reputation.add(-8.0, now);
    }

    /// Takes it off the list of those to tell of: what there is to tell.
    pub(super) fn ask(&mut self, now: Timestamp) -> Misdeeds {
        Misdeeds { traps: self.traps(now), ..self.reputation.ask(now) }
    }

    /// How many traps it went into lately, and when it last did, in seconds.
    fn traps(&self, now: Timestamp) -> (u16, u32) {
        let [traps, before] = self.probes.leaves(now).map(|leaf| leaf.traps);
        (traps.saturating_add(before), self.trapped)
    }

    /// Takes in what a file kept of it, or that it kept nothing; where it stands then.
    pub(super) fn recall(&mut self, kept: Option<&Kept>, now: Timestamp) -> Misdeeds {
        if let Some(kept) = kept.filter(|kept| kept.traps > 0) {
            // On the leaf that it stood on then, if nothing was written on a newer one.
            let leaf = self.probes.now(Timestamp::from_seconds(kept.trapped.into()));
            leaf.traps = leaf.traps.saturating_add(kept.traps);
            self.trapped = self.trapped.max(kept.trapped);
        }
        let own = self.reputation.recall(kept.map(|kept| kept.at(now)), now);
        Misdeeds { more: 0.0, own, known: true, returns: kept.is_some(), traps: self.traps(now) }
    }

    /// What it has to its name.
    pub(super) fn reputation(&mut self) -> &mut Reputation {
        &mut self.reputation
    }

    /// Pages of a list come one after another; a page in between that counts something else sets back by one.
    fn step(&mut self, sight: &Sight) {
        if self.rhythm.gaps() == 0 {
            self.steps = 0;
        }
        match sight.number {
            Some((number, stem)) if stem == self.stem => {
                self.steps = match number.wrapping_sub(self.number) {
                    0 => self.steps,
                    1 => self.steps.saturating_add(1),
                    _ => 0,
                };
                self.number = number;
            }
            Some((number, stem)) if self.steps == 0 => (self.number, self.stem) = (number, stem),
            _ => self.steps = self.steps.saturating_sub(1),
        }
    }

    /// Tells what is kept.
    pub(super) fn tell(&self, now: Timestamp, figures: &mut Figures) {
        let [a, b] = self.lately.leaves(now);
        let sum = |part: fn(&Leaf) -> u16| u32::from(part(&a)) + u32::from(part(&b));
        let [probed, before] = self.probes.leaves(now);
        for (figure, value) in [
            (Figure::ClientAgents, a.agents.and(b.agents).count()),
            (Figure::ClientAnswered, sum(|leaf| leaf.answered)),
            (Figure::ClientAssets, sum(|leaf| leaf.assets)),
            (Figure::ClientChallenged, sum(|leaf| leaf.challenged)),
            (Figure::ClientCleared, sum(|leaf| leaf.cleared)),
            (Figure::ClientDisrepute, u32::from(self.reputation.is_bad(now))),
            (Figure::ClientDocuments, sum(|leaf| leaf.documents)),
            (Figure::ClientDocumentsNow, self.documents.rate(now)),
            (Figure::ClientGap, self.rhythm.mean()),
            (Figure::ClientGaps, self.rhythm.gaps()),
            (Figure::ClientGapLag, self.rhythm.lag()),
            (Figure::ClientGapSpread, self.rhythm.spread()),
            (Figure::ClientMisdeeds, self.reputation.points(now)),
            (Figure::ClientPaths, a.paths.and(b.paths).count()),
            (Figure::ClientProbes, u32::from(probed.never) + u32::from(before.never)),
            (Figure::ClientProducts, (probed.products | before.products).count_ones()),
            (Figure::ClientRate, self.requests.rate(now)),
            (Figure::ClientRefused, sum(|leaf| leaf.refused)),
            (Figure::ClientShapes, a.shapes.and(b.shapes).count()),
            (Figure::ClientSteps, self.steps.into()),
            (Figure::ClientTraps, u32::from(probed.traps) + u32::from(before.traps)),
        ] {
            figures.set(figure, value);
        }
    }
}

fn add(count: &mut u16) {
    *count = count.saturating_add(1);
}
