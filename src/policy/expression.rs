//! The expressions of thresholds: whole numbers, `weight`, arithmetic, comparisons and logic.
//! What it does not know it refuses; it never guesses. Types are checked when the policy loads.

use std::ops::Range;

/// The longest expression, in bytes. Three comparisons take about 50.
const MAX_TEXT: usize = 1024;

/// How deep parentheses and signs may nest.
const MAX_DEPTH: usize = 32;

/// A checked expression over `weight`.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Binary(Operator, Box<Self>, Box<Self>),
    Bool(bool),
    Int(i64),
    Negative(Box<Self>),
    Not(Box<Self>),
    Weight,
}

/// What an expression yields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
}

/// Overflow or a division by zero: the expression has no value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Undefined;

/// Why an expression is refused, and where in its text.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operator {
    Add,
    And,
    Divide,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Multiply,
    NotEqual,
    Or,
    Remainder,
    Subtract,
}

/// Operators by how tightly they bind, loosest first; a longer spelling stands before its own beginning.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

impl Expression {
    /// Reads an expression and checks its types.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        if text.len() > MAX_TEXT {
            return Err(Refusal {
                message: format!("the expression is longer than {MAX_TEXT} bytes"),
                range: 0..1,
            });
        }
        let mut reader = Reader { text, at: 0, depth: 0 };
        let expression = reader.level(0)?;
        reader.blank();
        match reader.rest() {
            "" => Ok(expression),
            _ => reader.refuse(reader.at, "expected an operator or the end here"),
        }
    }

    /// Whether it yields true or false, and not a number.
    pub(super) fn is_bool(&self) -> bool {
        match self {
            Self::Bool(_) | Self::Not(_) => true,
            Self::Int(_) | Self::Negative(_) | Self::Weight => false,
            Self::Binary(operator, ..) => !operator.is_arithmetic(),
        }
    }

    /// Its value for a weight. `&&` and `||` have one whenever one side decides, whatever becomes of the other.
    pub(super) fn evaluate(&self, weight: i64) -> Result<Value, Undefined> {
        Ok(match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Weight => Value::Int(weight),
            Self::Negative(inner) => Value::Int(inner.number(weight)?.checked_neg().ok_or(Undefined)?),
            Self::Not(inner) => Value::Bool(!inner.truth(weight)?),
            Self::Binary(operator, left, right) => match operator {
                Operator::And => decided(left.truth(weight), right.truth(weight), false)?,
                Operator::Or => decided(left.truth(weight), right.truth(weight), true)?,
                Operator::Equal => Value::Bool(left.evaluate(weight)? == right.evaluate(weight)?),
                Operator::NotEqual => Value::Bool(left.evaluate(weight)? != right.evaluate(weight)?),
                operator => operator.apply(left.number(weight)?, right.number(weight)?)?,
            },
        })
    }

    /// Whether it is true for a weight; an undefined value and a number are not.
    pub(super) fn holds(&self, weight: i64) -> bool {
        self.evaluate(weight) == Ok(Value::Bool(true))
    }

    /// The numbers that are written in it: where its value may change.
    pub(super) fn literals(&self, out: &mut Vec<i64>) {
        match self {
            Self::Int(value) => out.push(*value),
            Self::Negative(inner) | Self::Not(inner) => {
                let from = out.len();
                inner.literals(out);
                out[from..].iter_mut().for_each(|n| *n = n.saturating_neg());
            }
            Self::Binary(_, left, right) => {
                left.literals(out);
                right.literals(out);
            }
            Self::Bool(_) | Self::Weight => {}
        }
    }

    fn number(&self, weight: i64) -> Result<i64, Undefined> {
        match self.evaluate(weight)? {
            Value::Int(number) => Ok(number),
            Value::Bool(_) => Err(Undefined),
        }
    }

    fn truth(&self, weight: i64) -> Result<bool, Undefined> {
        match self.evaluate(weight)? {
            Value::Bool(truth) => Ok(truth),
            Value::Int(_) => Err(Undefined),
        }
    }

    /// Joins the items of an `all` or `any` list.
    pub(super) fn join(operator: Operator, items: impl IntoIterator<Item = Self>) -> Option<Self> {
        items.into_iter().reduce(|left, right| Self::Binary(operator, Box::new(left), Box::new(right)))
    }
}

fn decided(
    left: Result<bool, Undefined>,
    right: Result<bool, Undefined>,
    decisive: bool,
) -> Result<Value, Undefined> {
    if left == Ok(decisive) || right == Ok(decisive) {
        return Ok(Value::Bool(decisive));
    }
    left.and(right).map(Value::Bool)
}

impl Operator {
    const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Divide | Self::Multiply | Self::Remainder | Self::Subtract)
    }

    const fn is_logic(self) -> bool {
        matches!(self, Self::And | Self::Or)
    }

    fn apply(self, left: i64, right: i64) -> Result<Value, Undefined> {
        let number = match self {
            Self::Add => left.checked_add(right),
            Self::Divide => left.checked_div(right),
            Self::Multiply => left.checked_mul(right),
            Self::Remainder => left.checked_rem(right),
            Self::Subtract => left.checked_sub(right),
            Self::Greater => return Ok(Value::Bool(left > right)),
            Self::GreaterOrEqual => return Ok(Value::Bool(left >= right)),
            Self::Less => return Ok(Value::Bool(left < right)),
            Self::LessOrEqual => return Ok(Value::Bool(left <= right)),
            Self::And | Self::Equal | Self::NotEqual | Self::Or => None,
        };
        number.map(Value::Int).ok_or(Undefined)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
    }

    fn refuse<T>(&self, from: usize, message: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal { message: message.into(), range: from..self.at.max(from + 1) })
    }

    fn level(&mut self, level: usize) -> Result<Expression, Refusal> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        self.blank();
        let from = self.at;
        let mut left = self.level(level + 1)?;
        loop {
            self.blank();
            let at = self.at;
            let Some((spelling, operator)) = operators.iter().find(|(s, _)| self.rest().starts_with(s))
            else {
                return Ok(left);
            };
            self.at += spelling.len();
            let right = self.level(level + 1)?;
            let fits = match operator {
                Operator::Equal | Operator::NotEqual => left.is_bool() == right.is_bool(),
                operator => left.is_bool() == operator.is_logic() && right.is_bool() == operator.is_logic(),
            };
            if !fits {
                let kinds = [&left, &right].map(|e| if e.is_bool() { "a boolean" } else { "a number" });
                let message = format!("`{spelling}` cannot take {} and {}", kinds[0], kinds[1]);
                return Err(Refusal { message, range: from.min(at)..self.at });
            }
            left = Expression::Binary(*operator, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Expression, Refusal> {
        self.blank();
        let from = self.at;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.refuse(from, format!("parentheses and signs nest deeper than {MAX_DEPTH}"));
        }
        let expression = match self.rest().as_bytes() {
            [b'(', ..] => {
                self.at += 1;
                let inner = self.level(0)?;
                self.blank();
                if !self.rest().starts_with(')') {
                    return self.refuse(from, "this parenthesis is never closed");
                }
                self.at += 1;
                inner
            }
            [sign @ (b'!' | b'-'), ..] => {
                self.at += 1;
                let inner = Box::new(self.unary()?);
                match (sign, inner.is_bool()) {
                    (b'!', true) => Expression::Not(inner),
                    (b'-', false) => Expression::Negative(inner),
                    (b'!', _) => return self.refuse(from, "`!` takes a boolean, and this is a number"),
                    _ => return self.refuse(from, "`-` takes a number, and this is a boolean"),
                }
            }
            _ => self.word(from)?,
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn word(&mut self, from: usize) -> Result<Expression, Refusal> {
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let end = self.rest().find(|c| !word(c)).unwrap_or_else(|| self.rest().len());
        let text = &self.rest()[..end];
        self.at += end;
        match text {
            "" if self.rest().is_empty() => {
                self.refuse(from, "the expression ends where a value is expected")
            }
            "" => {
                let c = self.rest().chars().next().unwrap_or(' ').escape_default();
                self.refuse(from, format!("expected a number or `weight`, found `{c}`"))
            }
            "true" => Ok(Expression::Bool(true)),
            "false" => Ok(Expression::Bool(false)),
            "weight" => Ok(Expression::Weight),
            _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                    Some(hex) => i64::from_str_radix(hex, 16),
                    None => text.parse(),
                };
                match number {
                    Ok(number) => Ok(Expression::Int(number)),
                    Err(_) => self.refuse(
                        from,
                        format!(
                            "`{text}` is no whole number that fits; `weight` is compared with whole numbers"
                        ),
                    ),
                }
            }
            _ => self.refuse(from, format!("`{text}` is not known here; a threshold sees only `weight`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, weight: i64, want: Result<Value, Undefined>) {
        assert_eq!(Expression::parse(text).unwrap().evaluate(weight), want, "{text} at {weight}");
    }

    #[test]
    fn expressions_have_the_value_that_cel_gives_them() {
        let yes = Ok(Value::Bool(true));
        let no = Ok(Value::Bool(false));
        let number = |n| Ok(Value::Int(n));
        for (text, weight, want) in [
            ("true", 0, yes),
            ("weight > 0", 1, yes),
            ("weight > 0", 0, no),
            ("weight >= 10 && weight < 20", 15, yes),
            ("weight<0||weight>9", 9, no),
            ("!(weight == 1)", 1, no),
            ("weight != -3", -3, no),
            ("1 + 2 * 3", 0, number(7)),
            ("(1 + 2) * 3", 0, number(9)),
            ("7 - 2 - 1", 0, number(4)),
            ("-7 / 2", 0, number(-3)),
            ("-7 % 2", 0, number(-1)),
            ("0x10", 0, number(16)),
            ("weight", 5, number(5)),
            ("- - 3", 0, number(3)),
            ("(weight > 1) == true", 2, yes),
            ("true || false && false", 0, yes),
            ("10 / (weight - 1) > 0", 1, Err(Undefined)),
            ("10 / (weight - 1) > 0 || true", 1, yes),
            ("false && 10 / (weight - 1) > 0", 1, no),
            ("10 / (weight - 1) > 0 && true", 1, Err(Undefined)),
            ("weight + 1 > 0", i64::MAX, Err(Undefined)),
            ("weight\n > 0\n", 1, yes),
        ] {
            check(text, weight, want);
        }
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        for (text, start) in [
            ("", 0),
            ("path == \"/\"", 0),
            ("weight > 5.5", 9),
            ("weight > 5u", 9),
            ("weight > ", 9),
            ("weight > 5 // high", 12),
            ("weight > 1 > 2", 0),
            ("weight && true", 0),
            ("!weight", 0),
            ("-true", 0),
            ("(weight > 1", 0),
            ("weight > 1)", 10),
            ("weight = 1", 7),
            ("weight > 1 ? true : false", 11),
            ("randInt(2) == 0", 0),
            ("weight in [1]", 7),
            ("weight > 99999999999999999999", 9),
            ("true == 1", 0),
            ("\u{e9}", 0),
            ("'a'", 0),
        ] {
            assert_eq!(Expression::parse(text).unwrap_err().range.start, start, "{text}");
        }
        assert!(Expression::parse(&"(".repeat(500)).is_err());
        assert!(Expression::parse(&"-".repeat(2000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9()!&|<>=+*/%. -]{0,40}", weight: i64) {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.evaluate(weight);
            }
        }
    }
}
