//! One evaluation of a compiled expression.
//!
//! Values borrow from the request and the expression; nothing is allocated unless a text, a list or a map comes up that
//! stands in neither. Types were checked, so that a value of the wrong type can only come from a dynamic part.

use std::rc::Rc;

use smallvec::SmallVec;

use super::ast::Operator;
use super::scene::Scene;
use super::stop::{Budget, Fault, Stop};
use super::tree::{Loop, Macro, Node, Search, Variable};
use super::value::{List, Map, Text, Value, entry};
use crate::policy::facts::{Facts, Lookup};

/// The state of an evaluation.
pub(super) struct Run<'a, 'r> {
    pub(super) inputs: Inputs<'a, 'r>,
    pub(super) budget: Budget,
    locals: SmallVec<[Value<'a>; 2]>,
    /// The lookups that are missing, as far as they still matter.
    pub(super) lookups: Vec<Lookup>,
    /// What `randInt` is drawn from, and how often it was.
    chance: u64,
    drawn: u64,
}

/// What an expression looks at.
#[derive(Clone, Copy)]
pub(super) enum Inputs<'a, 'r> {
    /// One reading of a request.
    Request {
        scene: &'a Scene<'a, 'r>,
        path: &'a str,
        /// Whether `;` separates pairs of the query.
        split: bool,
    },
    Weight(i64),
}

impl<'a, 'r> Run<'a, 'r> {
    pub(super) fn new(inputs: Inputs<'a, 'r>, chance: u64) -> Self {
        let (budget, locals, lookups) = (Budget::default(), SmallVec::new(), Vec::new());
        Self { inputs, budget, locals, lookups, chance, drawn: 0 }
    }

    pub(super) fn facts(&self) -> Option<&'a Facts<'a>> {
        match self.inputs {
            Inputs::Request { scene, .. } => Some(scene.facts),
            Inputs::Weight(_) => None,
        }
    }

    /// Notes a lookup that is missing.
    pub(super) fn need(&mut self, lookup: Lookup) -> Stop {
        if !self.lookups.contains(&lookup) {
            self.lookups.push(lookup);
        }
        Stop::Need
    }

    /// How many lookups are noted, for [`Run::forget`].
    pub(super) fn mark(&self) -> usize {
        self.lookups.len()
    }

    /// Forgets the lookups since a mark, because what they would tell no longer matters.
    pub(super) fn forget(&mut self, mark: usize) {
        self.lookups.truncate(mark);
    }

    /// Evaluates a part.
    pub(super) fn value(&mut self, node: &'a Node) -> Result<Value<'a>, Stop> {
        self.budget.spend(1)?;
        match node {
            Node::Binary(operator, pair) => self.binary(*operator, &pair[0], &pair[1]),
            Node::Call(function, args) => self.call(*function, args),
            Node::Conditional(three) => {
                let branch = if self.truth(&three[0])? { &three[1] } else { &three[2] };
                self.value(branch)
            }
            Node::Constant(constant) => Ok(Value::of(constant)),
            Node::Has(pair) => {
                let map = self.value(&pair[0])?;
                let key = self.value(&pair[1])?;
                Ok(Value::Bool(self.get(&map, &key)?.is_some()))
            }
            Node::Index(pair) => {
                let target = self.value(&pair[0])?;
                let index = self.value(&pair[1])?;
                self.index(&target, &index)
            }
            Node::Kind(kind) => Ok(Value::Kind(*kind)),
            Node::List(items) => {
                self.budget.items(items.len())?;
                let items: Result<Rc<[_]>, _> = items.iter().map(|i| self.value(i)).collect();
                Ok(Value::List(List::Values(items?)))
            }
            Node::Local(at) => self.locals.get(*at).cloned().ok_or(Stop::Fault(Fault::Type)),
            Node::Logic(decisive, items) => {
                self.decide(*decisive, items.iter(), |run, item| run.truth(item)).map(Value::Bool)
            }
            Node::Macro(what, parts) => self.through(*what, parts),
            Node::Map(entries) => self.map(entries),
            Node::Matches(subject, search) => {
                let subject = self.text(subject)?;
                self.budget.read(subject.len())?;
                match search {
                    Search::Ready(pattern) => Ok(Value::Bool(pattern.is_match(subject.as_bytes()))),
                    Search::Broken => Err(Fault::Pattern.into()),
                    Search::Late(pattern, cache) => {
                        let pattern = self.text(pattern)?;
                        // A pattern that came up may be slow in proportion to its own length.
                        self.budget.read(subject.len() * pattern.len() / 64)?;
                        let pattern = cache.get(&pattern, &mut self.budget)?;
                        Ok(Value::Bool(pattern.is_match(subject.as_bytes())))
                    }
                }
            }
            Node::Negative(inner) => match self.value(inner)? {
                Value::Int(value) => Ok(Value::Int(value.checked_neg().ok_or(Fault::Overflow)?)),
                Value::Double(value) => Ok(Value::Double(-value)),
                _ => Err(Fault::Type.into()),
            },
            Node::Not(inner) => Ok(Value::Bool(!self.truth(inner)?)),
            Node::Variable(variable) => self.variable(*variable),
            Node::Verify(address, search) => {
                let address = self.text(address)?;
                let late;
                let pattern = match search {
                    Search::Ready(pattern) => pattern,
                    Search::Broken => return Err(Fault::Pattern.into()),
                    Search::Late(pattern, cache) => {
                        let pattern = self.text(pattern)?;
                        late = cache.get(&pattern, &mut self.budget)?;
                        &*late
                    }
                };
                self.verify(&address, Some(|name: &str| pattern.is_match(name.as_bytes()))).map(Value::Bool)
            }
        }
    }

    /// Evaluates a part that is true or false.
    pub(super) fn truth(&mut self, node: &'a Node) -> Result<bool, Stop> {
        match self.value(node)? {
            Value::Bool(truth) => Ok(truth),
            _ => Err(Fault::Type.into()),
        }
    }

    /// Evaluates a part that is text.
    pub(super) fn text(&mut self, node: &'a Node) -> Result<Text<'a>, Stop> {
        match self.value(node)? {
            Value::Text(text) => Ok(text),
            _ => Err(Fault::Type.into()),
        }
    }

    fn variable(&self, variable: Variable) -> Result<Value<'a>, Stop> {
        let (scene, path) = match self.inputs {
            Inputs::Request { scene, path, .. } => (scene, path),
            Inputs::Weight(weight) if variable == Variable::Weight => return Ok(Value::Int(weight)),
            Inputs::Weight(_) => return Err(Fault::Type.into()),
        };
        let text = match variable {
            Variable::Agent => scene.agent(),
            Variable::Client => scene.client(),
            Variable::Host => &scene.request.host,
            Variable::Method => scene.request.method,
            Variable::Path => path,
            Variable::ContentLength => return Ok(Value::Int(scene.content_length())),
            Variable::Headers => return Ok(Value::Map(Map::Headers)),
            Variable::Query => return Ok(Value::Map(Map::Query)),
            Variable::Load(at) => return Ok(Value::Double(scene.facts.load[at])),
            Variable::Signal(signal) => return Ok(Value::Bool(scene.behaviour().signals.has(signal))),
            Variable::Figure(figure) => {
                let known = scene.behaviour().figures.known(figure);
                return known.map(|value| Value::Int(value.into())).ok_or(Stop::Unknown);
            }
            Variable::Weight => return Err(Fault::Type.into()),
        };
        Ok(Value::Text(Text::Borrowed(text)))
    }

    /// Whether one of the items has the value that decides. An item without a value is passed over: it counts only if
    /// no other item decides.
    fn decide<T>(
        &mut self,
        decisive: bool,
        items: impl Iterator<Item = T>,
        mut test: impl FnMut(&mut Self, T) -> Result<bool, Stop>,
    ) -> Result<bool, Stop> {
        let mark = self.mark();
        let mut stop = None;
        for item in items {
            match test(self, item) {
                Ok(truth) if truth == decisive => {
                    self.forget(mark);
                    return Ok(decisive);
                }
                Ok(_) => {}
                Err(reason) => stop = Some(reason.or(stop)),
            }
        }
        stop.map_or(Ok(!decisive), Err)
    }

    fn binary(&mut self, operator: Operator, left: &'a Node, right: &'a Node) -> Result<Value<'a>, Stop> {
        let left = self.value(left)?;
        let right = self.value(right)?;
        if let (Value::Text(a), Value::Text(b)) = (&left, &right) {
            self.budget.read(a.len().min(b.len()))?;
        }
        match operator {
            Operator::Equal => left.equals(&right, &mut self.budget).map(Value::Bool),
            Operator::NotEqual => left.equals(&right, &mut self.budget).map(|equal| Value::Bool(!equal)),
            Operator::In => self.holds(&right, &left).map(Value::Bool),
            Operator::Greater => Ok(Value::Bool(order(&left, &right)?.is_gt())),
            Operator::GreaterOrEqual => Ok(Value::Bool(order(&left, &right)?.is_ge())),
            Operator::Less => Ok(Value::Bool(order(&left, &right)?.is_lt())),
            Operator::LessOrEqual => Ok(Value::Bool(order(&left, &right)?.is_le())),
            _ => self.arithmetic(operator, left, right),
        }
    }

    fn holds(&mut self, container: &Value<'a>, item: &Value<'a>) -> Result<bool, Stop> {
        match container {
            Value::List(list) => {
                for known in list.iter() {
                    if known.equals(item, &mut self.budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            map => Ok(self.get(map, item)?.is_some()),
        }
    }

    /// The value of a key of a map.
    pub(super) fn get(&mut self, map: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, Stop> {
        match (map, key, self.inputs) {
            (Value::Map(Map::Entries(entries)), key, _) => entry(entries, key, &mut self.budget),
            (Value::Map(Map::Headers), Value::Text(name), Inputs::Request { scene, .. }) => {
                self.budget.spend(scene.request.headers.iter().count() / 8)?;
                Ok(scene.header(name).map(Value::Text))
            }
            (Value::Map(Map::Query), Value::Text(key), Inputs::Request { scene, split, .. }) => {
                self.budget.read(scene.request.target.query.map_or(0, <[u8]>::len))?;
                Ok(scene.query(key, split).map(Value::Text))
            }
            // A key of another type is in no map.
            (Value::Map(_), ..) => Ok(None),
            _ => Err(Fault::Type.into()),
        }
    }

    fn index(&mut self, target: &Value<'a>, index: &Value<'a>) -> Result<Value<'a>, Stop> {
        let Value::List(list) = target else {
            return self.get(target, index)?.ok_or(Stop::Fault(Fault::Key));
        };
        let at = match index {
            Value::Int(at) => usize::try_from(*at).ok(),
            Value::Uint(at) => usize::try_from(*at).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is whole and small"
            )]
            Value::Double(at) if at.fract() == 0.0 && (0.0..1e9).contains(at) => Some(*at as usize),
            Value::Double(_) => None,
            _ => return Err(Fault::Type.into()),
        };
        at.and_then(|at| list.get(at)).ok_or(Stop::Fault(Fault::Index))
    }

    fn map(&mut self, entries: &'a [(Node, Node)]) -> Result<Value<'a>, Stop> {
        let mut built: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (key, value) = (self.value(key)?, self.value(value)?);
            let fit = matches!(key, Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Uint(_));
            if !fit || entry(&built, &key, &mut self.budget)?.is_some() {
                return Err(Fault::Argument.into());
            }
            built.push((key, value));
        }
        Ok(Value::Map(Map::Entries(built.into())))
    }

    /// The items of a list, or the keys of a map.
    fn items(&mut self, value: Value<'a>) -> Result<List<'a>, Stop> {
        let texts: Vec<Value<'a>> = match (value, self.inputs) {
            (Value::List(list), _) => return Ok(list),
            (Value::Map(Map::Entries(entries)), _) => entries.iter().map(|(k, _)| k.clone()).collect(),
            (Value::Map(Map::Headers), Inputs::Request { scene, .. }) => {
                self.budget.spend(scene.request.headers.iter().count())?;
                scene.header_names().map(Value::owned).collect()
            }
            (Value::Map(Map::Query), Inputs::Request { scene, split, .. }) => {
                self.budget.read(scene.request.target.query.map_or(0, <[u8]>::len))?;
                let mut seen = std::collections::BTreeSet::new();
                let keys = scene.pairs(split).map(|(k, _)| k).filter(|k| seen.insert(k.clone()));
                keys.map(|k| Value::owned(&*k)).collect()
            }
            _ => return Err(Fault::Type.into()),
        };
        self.budget.items(texts.len())?;
        Ok(List::Values(texts.into()))
    }

    /// How many items a map has.
    pub(super) fn count(&mut self, map: &Map<'a>) -> Result<usize, Stop> {
        match map {
            Map::Entries(entries) => Ok(entries.len()),
            map => Ok(self.items(Value::Map(map.clone()))?.len()),
        }
    }

    /// Evaluates a part for an item.
    fn with(&mut self, item: Value<'a>, node: &'a Node) -> Result<Value<'a>, Stop> {
        let depth = self.locals.len();
        self.locals.push(item);
        let value = self.value(node);
        self.locals.truncate(depth);
        value
    }

    fn holds_for(&mut self, item: Value<'a>, node: &'a Node) -> Result<bool, Stop> {
        match self.with(item, node)? {
            Value::Bool(truth) => Ok(truth),
            _ => Err(Fault::Type.into()),
        }
    }

    fn through(&mut self, what: Macro, parts: &'a Loop) -> Result<Value<'a>, Stop> {
        let range = self.value(&parts.range)?;
        let list = self.items(range)?;
        match what {
            Macro::All | Macro::Exists => {
                let decisive = what == Macro::Exists;
                let test = |run: &mut Self, item| run.holds_for(item, &parts.body);
                self.decide(decisive, list.iter(), test).map(Value::Bool)
            }
            Macro::ExistsOne => {
                let mut found = 0;
                for item in list.iter() {
                    found += usize::from(self.holds_for(item, &parts.body)?);
                }
                Ok(Value::Bool(found == 1))
            }
            Macro::Filter => {
                let mut kept = Vec::new();
                for item in list.iter() {
                    if self.holds_for(item.clone(), &parts.body)? {
                        kept.push(item);
                    }
                }
                Ok(Value::List(List::Values(kept.into())))
            }
            Macro::Map => {
                let mut made = Vec::new();
                for item in list.iter() {
                    let fit = match &parts.condition {
                        Some(condition) => self.holds_for(item.clone(), condition)?,
                        None => true,
                    };
                    if fit {
                        made.push(self.with(item, &parts.body)?);
                    }
                }
                Ok(Value::List(List::Values(made.into())))
            }
        }
    }

    /// A number from 0 to below `below`. Each draw of one evaluation is another; the same evaluation again draws the same.
    pub(super) fn draw(&mut self, below: i64) -> Result<Value<'a>, Stop> {
        let below = u64::try_from(below).ok().filter(|n| *n > 0).ok_or(Fault::Argument)?;
        self.drawn += 1;
        let drawn =
            (u128::from(mixed(self.chance.wrapping_add(mixed(self.drawn)))) * u128::from(below)) >> 64;
        i64::try_from(drawn).map(Value::Int).map_err(|_| Fault::Overflow.into())
    }
}

/// How two values are ordered. Values that are not, such as a NaN, have no answer.
fn order(left: &Value<'_>, right: &Value<'_>) -> Result<std::cmp::Ordering, Stop> {
    let number = |v: &Value<'_>| matches!(v, Value::Double(_) | Value::Int(_) | Value::Uint(_));
    let fault = if number(left) && number(right) { Fault::Argument } else { Fault::Type };
    left.order(right).ok_or(Stop::Fault(fault))
}

/// Mixes a number so that each bit depends on all others (the finish of SplitMix64).
pub(super) const fn mixed(seed: u64) -> u64 {
    let a = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}
