//! From a tree as it is written to a compiled one: resolves names, checks types, compiles patterns.
//!
//! The rules are those of Go's checker: no operand is converted, operators take two values of one type, and what is
//! only known when it is evaluated (`dyn`, mixed lists) is let through. After a mistake the check goes on with a value of
//! which nothing is known, so that every mistake of an expression is found at once.

use std::ops::Range;

use super::ast::{Ast, Call, Kind, Operator};
use super::behaviour::is_behaviour;
use super::constant::Constant;
use super::function::{Function, Param, SIGNATURES, Signature};
use super::tree::{Cache, Loop, Macro, Node, Search, Variable};
use super::types::Type;
use super::value;
use super::{Refusal, Scope};
use crate::behaviour::Subject;
use crate::policy::document::nearest;
use crate::policy::pattern::Pattern;

/// The variables, where they are known, and their types.
const VARIABLES: [(&str, Scope, Variable); 12] = [
    ("contentLength", Scope::Rule, Variable::ContentLength),
    ("headers", Scope::Rule, Variable::Headers),
    ("host", Scope::Rule, Variable::Host),
    ("load_15m", Scope::Rule, Variable::Load(2)),
    ("load_1m", Scope::Rule, Variable::Load(0)),
    ("load_5m", Scope::Rule, Variable::Load(1)),
    ("method", Scope::Rule, Variable::Method),
    ("path", Scope::Rule, Variable::Path),
    ("query", Scope::Rule, Variable::Query),
    ("remoteAddress", Scope::Rule, Variable::Client),
    ("userAgent", Scope::Rule, Variable::Agent),
    ("weight", Scope::Threshold, Variable::Weight),
];

impl Variable {
    pub(super) fn to_type(self) -> Type {
        match self {
            Self::Agent | Self::Client | Self::Host | Self::Method | Self::Path => Type::Text,
            Self::ContentLength | Self::Figure(_) | Self::Weight => Type::Int,
            Self::Signal(_) => Type::Bool,
            Self::Headers | Self::Query => Param::TextsByText.to_type(),
            Self::Load(_) => Type::Double,
        }
    }
}

/// What an expression looks at, beyond its constants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Reads {
    /// Anything at all.
    pub(super) anything: bool,
    /// The `User-Agent`, as a variable or by its name.
    pub(super) agent: bool,
    /// Anything but the `User-Agent`.
    pub(super) others: bool,
    pub(super) path: bool,
    pub(super) query: bool,
    pub(super) chance: bool,
    /// Names or addresses that a resolver must look up.
    pub(super) names: bool,
    /// What is remembered of an autonomous system.
    pub(super) asn: bool,
}

/// A compiled part and its type.
pub(super) struct Typed {
    pub(super) node: Node,
    pub(super) kind: Type,
}

/// The state of a check.
pub(super) struct Checker {
    pub(super) scope: Scope,
    /// Variables of the macros around, outermost first.
    locals: Vec<(String, Type)>,
    pub(super) reads: Reads,
    pub(super) refusals: Vec<Refusal>,
    /// Whether a value came up whose type is only known when it is evaluated.
    #[cfg(test)]
    pub(super) dynamic: bool,
}

impl Checker {
    pub(super) fn new(scope: Scope) -> Self {
        Self {
            scope,
            locals: Vec::new(),
            reads: Reads::default(),
            refusals: Vec::new(),
            #[cfg(test)]
            dynamic: false,
        }
    }

    pub(super) fn fail(
        &mut self,
        range: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Typed {
        self.refusals.push(Refusal { range: range.clone(), message: message.into(), help });
        Typed { node: Node::Constant(Constant::Null), kind: Type::Dyn }
    }

    /// Compiles a part.
    pub(super) fn check(&mut self, ast: &Ast) -> Typed {
        let typed = self.part(ast);
        #[cfg(test)]
        {
            self.dynamic |= typed.kind.has_dyn();
        }
        typed
    }

    fn part(&mut self, ast: &Ast) -> Typed {
        match &ast.kind {
            Kind::Binary(operator, pair) => self.binary(*operator, pair, &ast.range),
            Kind::Call(call) => self.call(call, &ast.range),
            Kind::Conditional(three) => self.conditional(three),
            Kind::Constant(constant) => {
                Typed { node: Node::Constant(constant.clone()), kind: constant.simple_type() }
            }
            Kind::Index(pair) => self.index(pair),
            Kind::List(items) => self.list(items),
            Kind::Logic(decisive, items) => {
                let sign = if *decisive { "||" } else { "&&" };
                let items = items.iter().map(|i| self.condition(i, &format!("`{sign}`"))).collect();
                Typed { node: Node::Logic(*decisive, items), kind: Type::Bool }
            }
            Kind::Map(entries) => self.map(entries),
            Kind::Name(name) => self.name(name, &ast.range),
            Kind::Negative(inner) => self.negative(inner),
            Kind::Not(inner) => {
                let node = Node::Not(Box::new(self.condition(inner, "`!`")));
                Typed { node, kind: Type::Bool }
            }
            Kind::Select(target, field) => self
                .behaviour(target, field, &ast.range)
                .unwrap_or_else(|| self.select(target, field, &ast.range, Node::Index)),
        }
    }

    /// A part that must be true or false.
    pub(super) fn condition(&mut self, ast: &Ast, wanted_by: &str) -> Node {
        let typed = self.check(ast);
        if !typed.kind.fits(&Type::Bool) {
            let message = format!("{wanted_by} takes a bool, but this is {}", typed.kind.noun());
            return self.fail(&ast.range, message, None).node;
        }
        typed.node
    }

    fn name(&mut self, name: &str, range: &Range<usize>) -> Typed {
        if let Some(at) = self.locals.iter().rposition(|(n, _)| n == name) {
            return Typed { node: Node::Local(at), kind: self.locals[at].1.clone() };
        }
        if let Some((_, scope, variable)) = VARIABLES.iter().find(|(n, ..)| *n == name) {
            if *scope != self.scope {
                let message = format!("`{name}` is not known {}", self.scope.place());
                return self.fail(range, message, Some(self.scope.help().to_owned()));
            }
            self.note(*variable);
            return Typed { node: Node::Variable(*variable), kind: variable.to_type() };
        }
        if let Some(kind) = value::Kind::named(name) {
            return Typed { node: Node::Kind(kind), kind: Type::Kind };
        }
        if is_behaviour(name) && self.scope == Scope::Rule {
            let help = format!("write `{name}.NAME`; policies/README.md lists the names");
            return self.fail(range, format!("`{name}` alone has no value"), Some(help));
        }
        let here = VARIABLES.iter().filter(|(_, s, _)| *s == self.scope).map(|(n, ..)| *n);
        let locals = self.locals.iter().map(|(n, _)| n.as_str());
        let help = match nearest(name, here.chain(locals)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => self.scope.help().to_owned(),
        };
        self.fail(range, format!("`{name}` is not known"), Some(help))
    }

    pub(super) fn note(&mut self, variable: Variable) {
        self.reads.anything = true;
        match variable {
            Variable::Agent => self.reads.agent = true,
            Variable::Path => (self.reads.path, self.reads.others) = (true, true),
            Variable::Query => (self.reads.query, self.reads.others) = (true, true),
            Variable::Figure(figure) => {
                (self.reads.asn, self.reads.others) =
                    (self.reads.asn || figure.subject() == Subject::Asn, true);
            }
            _ => self.reads.others = true,
        }
    }

    fn binary(&mut self, operator: Operator, pair: &[Ast; 2], range: &Range<usize>) -> Typed {
        let [left, right] = pair.each_ref().map(|a| self.check(a));
        if let (Operator::In, Node::Variable(Variable::Headers), Some(key)) =
            (operator, &right.node, pair[0].text())
        {
            self.header(key);
        }
        let Some(kind) = result(operator, &left.kind, &right.kind) else {
            let sign = operator.as_str();
            let message = format!("`{sign}` cannot take {} and {}", left.kind.noun(), right.kind.noun());
            let help = mixed(operator, pair, &left.kind, &right.kind);
            return self.fail(range, message, help);
        };
        Typed { node: Node::Binary(operator, Box::new([left.node, right.node])), kind }
    }

    fn negative(&mut self, inner: &Ast) -> Typed {
        let typed = self.check(inner);
        match typed.kind {
            Type::Int | Type::Double | Type::Dyn | Type::Free => {
                Typed { node: Node::Negative(Box::new(typed.node)), kind: typed.kind }
            }
            kind => self.fail(
                &inner.range,
                format!("`-` takes an int or a double, but this is {}", kind.noun()),
                None,
            ),
        }
    }

    fn conditional(&mut self, three: &[Ast; 3]) -> Typed {
        let condition = self.condition(&three[0], "the condition before `?`");
        let [yes, no] = [&three[1], &three[2]].map(|a| self.check(a));
        if !yes.kind.fits(&no.kind) {
            let message =
                format!("both sides of `:` must have one type, but they are {} and {}", yes.kind, no.kind);
            return self.fail(&three[2].range, message, None);
        }
        let node = Node::Conditional(Box::new([condition, yes.node, no.node]));
        Typed { node, kind: yes.kind.join(no.kind) }
    }

    fn list(&mut self, items: &[Ast]) -> Typed {
        let mut kind = Type::Free;
        let mut nodes = Vec::with_capacity(items.len());
        for item in items {
            let typed = self.check(item);
            kind = kind.join(typed.kind);
            nodes.push(typed.node);
        }
        let constants: Option<Box<[Constant]>> = nodes
            .iter()
            .map(|n| match n {
                Node::Constant(constant) => Some(constant.clone()),
                _ => None,
            })
            .collect();
        let node = match constants {
            Some(constants) => Node::Constant(Constant::List(constants)),
            None => Node::List(nodes.into()),
        };
        Typed { node, kind: Type::List(Box::new(kind)) }
    }

    fn map(&mut self, entries: &[(Ast, Ast)]) -> Typed {
        let (mut keys, mut values) = (Type::Free, Type::Free);
        let nodes = entries
            .iter()
            .map(|(key, value)| {
                let (key, value) = (self.check(key), self.check(value));
                keys = std::mem::replace(&mut keys, Type::Free).join(key.kind);
                values = std::mem::replace(&mut values, Type::Free).join(value.kind);
                (key.node, value.node)
            })
            .collect();
        Typed { node: Node::Map(nodes), kind: Type::Map(Box::new(keys), Box::new(values)) }
    }

    fn index(&mut self, pair: &[Ast; 2]) -> Typed {
        let [target, index] = pair.each_ref().map(|a| self.check(a));
        if let (Node::Variable(Variable::Headers), Some(key)) = (&target.node, pair[1].text()) {
            self.header(key);
        }
        let kind = match (&target.kind, &index.kind) {
            (Type::List(item), index) if index.fits(&Type::Int) => (**item).clone(),
            (Type::Map(key, value), index) if index.fits(key) => (**value).clone(),
            (Type::Dyn | Type::Free, _) => Type::Dyn,
            (Type::List(_), other) => {
                return self.fail(
                    &pair[1].range,
                    format!("a list is indexed by an int, but this is {}", other.noun()),
                    None,
                );
            }
            (Type::Map(key, _), other) => {
                let message = format!("the keys of this map are {key}, but this is {}", other.noun());
                return self.fail(&pair[1].range, message, None);
            }
            (other, _) => {
                return self.fail(&pair[0].range, format!("{} has no items to index", other.noun()), None);
            }
        };
        Typed { node: Node::Index(Box::new([target.node, index.node])), kind }
    }

    fn select(
        &mut self,
        target: &Ast,
        field: &str,
        range: &Range<usize>,
        make: fn(Box<[Node; 2]>) -> Node,
    ) -> Typed {
        let typed = self.check(target);
        if matches!(typed.node, Node::Variable(Variable::Headers)) {
            self.header(field);
        }
        let kind = match typed.kind {
            Type::Map(key, value) if key.fits(&Type::Text) => *value,
            Type::Dyn | Type::Free => Type::Dyn,
            other => return self.fail(range, format!("{} has no field `{field}`", other.noun()), None),
        };
        let key = Node::Constant(Constant::Text(field.into()));
        Typed { node: make(Box::new([typed.node, key])), kind }
    }

    /// Notes that a header is looked up by its name. To read the `User-Agent` this way is to read the agent.
    fn header(&mut self, name: &str) {
        self.reads.agent |= name.eq_ignore_ascii_case("user-agent");
    }

    fn call(&mut self, call: &Call, range: &Range<usize>) -> Typed {
        if let Some((name, form)) = MACROS.iter().find(|(n, _)| *n == call.name) {
            let typed = self.macro_call(call);
            return typed
                .unwrap_or_else(|| self.fail(range, format!("`{name}` is written as `{form}`"), None));
        }
        // `strings.quote(x)` is a name with a dot in it, and no member of a value.
        let spaced = call.target.as_ref().is_some_and(|t| t.is_name("strings")) && !self.is_local("strings");
        let (name, target) = match &call.target {
            Some(_) if spaced => (format!("strings.{}", call.name), None),
            Some(target) => (call.name.clone(), Some(&**target)),
            None => (call.name.clone(), None),
        };
        let member = target.is_some();
        let args: Vec<&Ast> = target.into_iter().chain(&call.args).collect();
        let typed: Vec<Typed> = args.iter().map(|a| self.check(a)).collect();
        let named: Vec<&Signature> = SIGNATURES.iter().filter(|s| s.name == name).collect();
        let fitting: Vec<&Signature> = named
            .iter()
            .copied()
            .filter(|s| s.member == member && s.params.len() == typed.len())
            .filter(|s| s.params.iter().zip(&typed).all(|(p, t)| t.kind.fits(&p.to_type())))
            .collect();
        let Some(first) = fitting.first() else {
            return self.misfit(&name, member, &named, &typed, range);
        };
        if first.request && self.scope != Scope::Rule {
            let message = format!("`{name}` is not known {}", self.scope.place());
            return self.fail(range, message, Some(self.scope.help().to_owned()));
        }
        let kind = first.result.to_type();
        let kind = if fitting.iter().all(|s| s.result == first.result) { kind } else { Type::Dyn };
        let function = first.function;
        if function == Function::MissingHeader
            && let (Node::Variable(Variable::Headers), Some(key)) = (&typed[0].node, args[1].text())
        {
            self.header(key);
        }
        if matches!(
            function,
            Function::RandInt | Function::ReverseDns | Function::LookupHost | Function::VerifyFcrdns
        ) {
            (self.reads.anything, self.reads.others) = (true, true);
            self.reads.chance |= function == Function::RandInt;
            self.reads.names |=
                matches!(function, Function::LookupHost | Function::ReverseDns | Function::VerifyFcrdns);
        }
        Typed { node: self.function(function, typed, &args), kind }
    }

    fn function(&mut self, function: Function, typed: Vec<Typed>, args: &[&Ast]) -> Node {
        let mut nodes: Vec<Node> = typed.into_iter().map(|t| t.node).collect();
        let searches = matches!(function, Function::Matches | Function::VerifyFcrdns) && nodes.len() == 2;
        let Some(pattern) = nodes.pop_if(|_| searches) else { return Node::Call(function, nodes.into()) };
        let search = self.search(pattern, args[1], function == Function::Matches);
        let subject = Box::new(nodes.swap_remove(0));
        if function == Function::Matches {
            Node::Matches(subject, search)
        } else {
            Node::Verify(subject, search)
        }
    }

    /// Makes a pattern ready. Only `matches` refuses a constant that is none: Go compiles the other when it is asked.
    fn search(&mut self, pattern: Node, ast: &Ast, strict: bool) -> Search {
        let Node::Constant(Constant::Text(text)) = &pattern else {
            return Search::Late(Box::new(pattern), Cache::default());
        };
        match Pattern::compile_exact(text) {
            Ok(pattern) => Search::Ready(pattern),
            Err(refusal) => {
                if strict {
                    // Where the literal has no escapes, the place inside of it is known.
                    let around = ast.range.len().saturating_sub(text.len());
                    let range = match around {
                        2 | 3 => {
                            let start = ast.range.start + around - 1;
                            start + refusal.range.start..start + refusal.range.end
                        }
                        _ => ast.range.clone(),
                    };
                    self.fail(&range, format!("this is no pattern: {}", refusal.message), None);
                }
                Search::Broken
            }
        }
    }

    /// Says why no way to call a function fits.
    fn misfit(
        &mut self,
        name: &str,
        member: bool,
        named: &[&Signature],
        typed: &[Typed],
        range: &Range<usize>,
    ) -> Typed {
        if named.is_empty() {
            let scope = self.scope;
            let known = SIGNATURES.iter().filter(|s| !s.request || scope == Scope::Rule).map(|s| s.name);
            let help = nearest(name, known.chain(MACROS.iter().map(|(n, _)| *n)))
                .map(|n| format!("did you mean `{n}`?"));
            return self.fail(range, format!("there is no function `{name}`"), help);
        }
        if named.iter().all(|s| s.member != member) {
            let form = if member { format!("{name}(x)") } else { format!("x.{name}(...)") };
            return self.fail(range, format!("`{name}` is called as `{form}`"), None);
        }
        let given = typed.len() - usize::from(member);
        let counts: Vec<usize> = named
            .iter()
            .filter(|s| s.member == member)
            .map(|s| s.params.len() - usize::from(member))
            .collect();
        if !counts.contains(&given) {
            let mut counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            counts.dedup();
            let message = format!("`{name}` takes {} arguments, but {given} are given", counts.join(" or "));
            return self.fail(range, message, None);
        }
        let kinds: Vec<String> = typed.iter().map(|t| t.kind.to_string()).collect();
        let message = match kinds.split_first() {
            Some((target, args)) if member => {
                format!("`{name}` cannot be called on {target} with ({})", args.join(", "))
            }
            _ => format!("`{name}` cannot take ({})", kinds.join(", ")),
        };
        let help = named
            .iter()
            .find(|s| s.member == member && s.params.len() == typed.len())
            .map(|s| s.params.iter().map(|p| p.to_type().to_string()).collect::<Vec<_>>())
            .map(|wanted| format!("it takes ({})", wanted.join(", ")));
        self.fail(range, message, help)
    }

    /// Compiles a macro, if it is called as one.
    fn macro_call(&mut self, call: &Call) -> Option<Typed> {
        let Some(target) = &call.target else {
            if call.name != "has" || call.args.len() != 1 {
                return None;
            }
            return Some(match &call.args[0].kind {
                Kind::Select(target, field) => {
                    let typed = self.select(target, field, &call.args[0].range, Node::Has);
                    Typed { node: typed.node, kind: Type::Bool }
                }
                _ => self.fail(&call.args[0].range, "`has` takes a field, such as `headers.Accept`", None),
            });
        };
        let (what, count) = match call.name.as_str() {
            "all" => (Macro::All, 2),
            "exists" => (Macro::Exists, 2),
            "exists_one" | "existsOne" => (Macro::ExistsOne, 2),
            "filter" => (Macro::Filter, 2),
            "map" => (Macro::Map, call.args.len().clamp(2, 3)),
            _ => return None,
        };
        if call.args.len() != count {
            return None;
        }
        let Kind::Name(variable) = &call.args[0].kind else {
            let message = format!("`{}` needs the name of a variable first", call.name);
            return Some(self.fail(&call.args[0].range, message, None));
        };
        let over = self.check(target);
        let item = match over.kind {
            Type::List(item) => *item,
            Type::Map(key, _) => *key,
            Type::Dyn | Type::Free => Type::Dyn,
            kind => {
                let message =
                    format!("`{}` goes through a list or a map, but this is {}", call.name, kind.noun());
                return Some(self.fail(&target.range, message, None));
            }
        };
        self.locals.push((variable.clone(), item.clone()));
        let wanted = format!("`{}`", call.name);
        let (condition, body, kind) = match (what, &call.args[1..]) {
            (Macro::Map, [body]) => {
                let body = self.check(body);
                (None, body.node, Type::List(Box::new(body.kind)))
            }
            (Macro::Map, [condition, body]) => {
                let condition = self.condition(condition, &wanted);
                let body = self.check(body);
                (Some(condition), body.node, Type::List(Box::new(body.kind)))
            }
            (Macro::Filter, args) => (None, self.condition(&args[0], &wanted), Type::List(Box::new(item))),
            (_, args) => (None, self.condition(&args[0], &wanted), Type::Bool),
        };
        self.locals.pop();
        Some(Typed { node: Node::Macro(what, Box::new(Loop { range: over.node, condition, body })), kind })
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|(n, _)| n == name)
    }
}

/// The macros, and how they are written.
const MACROS: [(&str, &str); 7] = [
    ("all", "list.all(x, condition)"),
    ("exists", "list.exists(x, condition)"),
    ("existsOne", "list.existsOne(x, condition)"),
    ("exists_one", "list.exists_one(x, condition)"),
    ("filter", "list.filter(x, condition)"),
    ("has", "has(map.field)"),
    ("map", "list.map(x, value)"),
];

/// The type of an operator's result; `None` if it cannot take these operands.
fn result(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    use Operator as O;
    let ordered = |t: &Type| !matches!(t, Type::List(_) | Type::Map(..) | Type::Null | Type::Kind);
    let number = |t: &Type| matches!(t, Type::Double | Type::Int | Type::Uint);
    let known = if left.is_open() { right } else { left };
    match operator {
        O::Equal | O::NotEqual => left.fits(right).then_some(Type::Bool),
        O::In => match right {
            Type::List(item) | Type::Map(item, _) => left.fits(item).then_some(Type::Bool),
            _ => right.is_open().then_some(Type::Bool),
        },
        O::Greater | O::GreaterOrEqual | O::Less | O::LessOrEqual => {
            (left.fits(right) && ordered(left) && ordered(right)).then_some(Type::Bool)
        }
        O::Add | O::Subtract if matches!(known, Type::Duration | Type::Timestamp) || known.is_open() => {
            match (operator, left, right) {
                (_, a, b) if a.is_open() || b.is_open() => Some(Type::Dyn),
                (_, Type::Duration, Type::Duration) | (O::Subtract, Type::Timestamp, Type::Timestamp) => {
                    Some(Type::Duration)
                }
                (_, Type::Timestamp, Type::Duration) | (O::Add, Type::Duration, Type::Timestamp) => {
                    Some(Type::Timestamp)
                }
                _ => None,
            }
        }
        O::Add if matches!((left, right), (Type::List(_), Type::List(_))) => {
            Some(left.clone().join(right.clone()))
        }
        O::Add if matches!(known, Type::Text | Type::Bytes | Type::List(_)) => {
            left.fits(right).then(|| known.clone())
        }
        O::Remainder if *known == Type::Double => None,
        O::Add | O::Divide | O::Multiply | O::Remainder | O::Subtract => {
            (left.fits(right) && (number(known) || known.is_open())).then(|| known.clone())
        }
    }
}

/// What to do about two operands that do not fit.
fn mixed(operator: Operator, pair: &[Ast; 2], left: &Type, right: &Type) -> Option<String> {
    if operator == Operator::In && *right == Type::Text {
        return Some(
            "`in` looks into lists and maps; a text is searched with `text.contains(part)`".to_owned(),
        );
    }
    let literal = |ast: &Ast, other: &Type| match (&ast.kind, other) {
        (Kind::Constant(Constant::Int(n)), Type::Double) => Some(format!("write `{n}.0`")),
        (Kind::Constant(Constant::Int(n)), Type::Uint) => Some(format!("write `{n}u`")),
        _ => None,
    };
    let number = |t: &Type| matches!(t, Type::Double | Type::Int | Type::Uint);
    let convert = || {
        let help = "convert one side, for instance with `double(x)` or `int(x)`";
        (number(left) && number(right)).then(|| help.to_owned())
    };
    literal(&pair[1], left).or_else(|| literal(&pair[0], right)).or_else(convert)
}
