//! From tokens to a tree: the grammar of CEL, by descent with a bound on its depth.

use std::ops::Range;

use super::Refusal;
use super::ast::{Ast, Call, Kind, Operator};
use super::constant::Constant;
use super::token::{Token, Tokens};

/// The longest expression, in bytes. A list of 500 agents takes about 10 KiB.
const MAX_TEXT: usize = 64 * 1024;

/// How deep brackets, calls and conditions may nest.
const MAX_NESTING: usize = 48;

/// How deep the tree may be, chains of operators and members included. Every walk over it recurses this far.
const MAX_DEPTH: usize = 128;

/// Words that name nothing, because CEL keeps them for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Operators between two operands, by how tightly they bind.
const LEVELS: [&[(&str, Operator)]; 3] = [
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("in", Operator::In),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// Parses an expression. `closed` says that the text will stand in parentheses, which an open comment would swallow.
pub(super) fn parse(text: &str, closed: bool) -> Result<Ast, Refusal> {
    if text.len() > MAX_TEXT {
        return Err(Refusal::new(0..1, format!("the expression is longer than {} KiB", MAX_TEXT / 1024)));
    }
    let tokens = Tokens::read(text)?;
    if let (true, Some(comment)) = (closed, tokens.open) {
        let message = "this comment swallows the parenthesis that is put around each item of a list";
        return Err(
            Refusal::new(comment, message).advise("end it with a line break, or move it out of the text")
        );
    }
    let mut parser = Parser { text, tokens: &tokens.list, at: 0, nesting: 0 };
    let ast = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(ast),
        _ => parser.unexpected("an operator or the end"),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [(Token, Range<usize>)],
    at: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &'t Token {
        &self.tokens[self.at].0
    }

    fn range(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    /// The text of the token that comes next.
    fn spelling(&self) -> &'t str {
        &self.text[self.range()]
    }

    /// Takes the next token, of which the last is never passed.
    fn next(&mut self) -> Range<usize> {
        let range = self.range();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        range
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(s) if *s == sign);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str, opened: &Range<usize>) -> Result<Range<usize>, Refusal> {
        let here = self.range();
        if self.takes(sign) {
            return Ok(here);
        }
        if matches!(self.peek(), Token::End) {
            return Err(Refusal::new(opened.clone(), format!("this is never closed by `{sign}`")));
        }
        self.unexpected(&format!("`{sign}`"))
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, Refusal> {
        let mut range = self.range();
        let message = match self.peek() {
            Token::End => format!("the expression ends where {wanted} is expected"),
            _ => format!("expected {wanted}, found `{}`", self.spelling().escape_debug()),
        };
        let help = match self.spelling() {
            "=" => Some("compare with `==`"),
            "and" | "AND" => Some("write `&&`"),
            "or" | "OR" => Some("write `||`"),
            "not" | "NOT" => Some("write `!`"),
            _ => None,
        };
        range.end = range.end.max(range.start + 1);
        let refusal = Refusal::new(range, message);
        Err(match help {
            Some(help) => refusal.advise(help),
            None => refusal,
        })
    }

    fn node(&self, kind: Kind, range: Range<usize>) -> Result<Ast, Refusal> {
        let ast = Ast::new(kind, range);
        if ast.depth > MAX_DEPTH {
            return Err(Refusal::new(
                ast.range,
                format!("the expression is more than {MAX_DEPTH} levels deep"),
            ));
        }
        Ok(ast)
    }

    /// A whole expression: `a || b`, or `a ? b : c`.
    fn expression(&mut self) -> Result<Ast, Refusal> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!("brackets nest deeper than {MAX_NESTING}");
            return Err(Refusal::new(self.range(), message));
        }
        let mut ast = self.logic("||")?;
        let question = self.range();
        if self.takes("?") {
            let yes = self.logic("||")?;
            self.expect(":", &question)?;
            let no = self.expression()?;
            let range = ast.range.start..no.range.end;
            ast = self.node(Kind::Conditional(Box::new([ast, yes, no])), range)?;
        }
        self.nesting -= 1;
        Ok(ast)
    }

    fn logic(&mut self, sign: &'static str) -> Result<Ast, Refusal> {
        let or = sign == "||";
        let first = if or { self.logic("&&")? } else { self.binary(0)? };
        let mut items = vec![first];
        while self.takes(sign) {
            items.push(if or { self.logic("&&")? } else { self.binary(0)? });
        }
        let range = items[0].range.start..items[items.len() - 1].range.end;
        match items.len() {
            1 => Ok(items.swap_remove(0)),
            _ => self.node(Kind::Logic(or, items), range),
        }
    }

    fn binary(&mut self, level: usize) -> Result<Ast, Refusal> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let spelling = match self.peek() {
                Token::Sign(sign) => *sign,
                Token::Word if self.spelling() == "in" => "in",
                _ => return Ok(left),
            };
            let Some((_, operator)) = operators.iter().find(|(s, _)| *s == spelling) else { return Ok(left) };
            self.next();
            let right = self.binary(level + 1)?;
            let range = left.range.start..right.range.end;
            left = self.node(Kind::Binary(*operator, Box::new([left, right])), range)?;
        }
    }

    fn unary(&mut self) -> Result<Ast, Refusal> {
        let start = self.range().start;
        let sign = match self.peek() {
            Token::Sign(sign @ ("!" | "-")) => *sign,
            _ => return self.member(),
        };
        let mut odd = false;
        // The sign in front of a number belongs to it, so that the smallest number can be written.
        while matches!(self.peek(), Token::Sign(s) if *s == sign) && !self.signed_number() {
            self.next();
            odd = !odd;
        }
        let inner = self.member()?;
        let range = start..inner.range.end;
        match (sign, odd) {
            (_, false) => Ok(inner),
            ("!", true) => self.node(Kind::Not(Box::new(inner)), range),
            (_, true) => self.node(Kind::Negative(Box::new(inner)), range),
        }
    }

    fn signed_number(&self) -> bool {
        matches!(self.peek(), Token::Sign("-"))
            && matches!(self.tokens.get(self.at + 1), Some((Token::Int(_) | Token::Double(_), _)))
    }

    fn member(&mut self) -> Result<Ast, Refusal> {
        let mut ast = self.primary()?;
        loop {
            let here = self.range();
            if self.takes(".") {
                let name = self.name()?;
                let named = self.tokens[self.at - 1].1.clone();
                let opened = self.range();
                if self.takes("(") {
                    let args = self.list(")", &opened)?;
                    let range = named.start..self.tokens[self.at - 1].1.end;
                    let call = Call { name, target: Some(Box::new(ast)), args };
                    ast = self.node(Kind::Call(call), range)?;
                } else {
                    let range = ast.range.start..named.end;
                    ast = self.node(Kind::Select(Box::new(ast), name), range)?;
                }
            } else if self.takes("[") {
                let index = self.expression()?;
                let end = self.expect("]", &here)?.end;
                let range = ast.range.start..end;
                ast = self.node(Kind::Index(Box::new([ast, index])), range)?;
            } else {
                return Ok(ast);
            }
        }
    }

    /// A name after a dot.
    fn name(&mut self) -> Result<String, Refusal> {
        match self.peek() {
            Token::Word if !matches!(self.spelling(), "in" | "true" | "false" | "null") => {
                let name = self.spelling().to_owned();
                self.next();
                Ok(name)
            }
            _ => self.unexpected("a name"),
        }
    }

    fn list(&mut self, close: &'static str, opened: &Range<usize>) -> Result<Vec<Ast>, Refusal> {
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(self.expression()?);
            if !self.takes(",") {
                self.expect(close, opened)?;
                break;
            }
            // Lists may end in a comma, calls may not.
            if close == ")" && matches!(self.peek(), Token::Sign(")")) {
                return self.unexpected("a value");
            }
        }
        Ok(items)
    }

    fn map(&mut self, opened: &Range<usize>) -> Result<Vec<(Ast, Ast)>, Refusal> {
        let mut entries = Vec::new();
        while !self.takes("}") {
            let key = self.expression()?;
            self.expect(":", &key.range)?;
            entries.push((key, self.expression()?));
            if !self.takes(",") {
                self.expect("}", opened)?;
                break;
            }
        }
        Ok(entries)
    }

    fn primary(&mut self) -> Result<Ast, Refusal> {
        let start = self.range();
        let negative = self.signed_number();
        if negative {
            self.next();
        }
        let constant = match self.peek() {
            Token::Bytes(bytes) => Constant::Bytes(bytes.clone().into()),
            Token::Double(value) => Constant::Double(if negative { -value } else { *value }),
            Token::Text(text) => Constant::Text(text.as_str().into()),
            Token::Uint(value) => Constant::Uint(*value),
            Token::Int(value) => {
                let value = i128::from(*value);
                match i64::try_from(if negative { -value } else { value }) {
                    Ok(value) => Constant::Int(value),
                    Err(_) => return self.unexpected("a number of 64 bits"),
                }
            }
            Token::Word => return self.word(),
            Token::Sign("(") => {
                self.next();
                let mut inner = self.expression()?;
                inner.range = start.start..self.expect(")", &start)?.end;
                return Ok(inner);
            }
            Token::Sign("[") => {
                self.next();
                let items = self.list("]", &start)?;
                return self.node(Kind::List(items), start.start..self.tokens[self.at - 1].1.end);
            }
            Token::Sign("{") => {
                self.next();
                let entries = self.map(&start)?;
                return self.node(Kind::Map(entries), start.start..self.tokens[self.at - 1].1.end);
            }
            // A leading dot asks for a name at the outermost level, where all of ours are.
            Token::Sign(".") if matches!(self.tokens.get(self.at + 1), Some((Token::Word, _))) => {
                self.next();
                return self.word();
            }
            _ => return self.unexpected("a value"),
        };
        let end = self.next().end;
        Ok(Ast::new(Kind::Constant(constant), start.start..end))
    }

    fn word(&mut self) -> Result<Ast, Refusal> {
        let word = self.spelling();
        let range = self.range();
        let constant = match word {
            "true" | "false" => Some(Constant::Bool(word == "true")),
            "null" => Some(Constant::Null),
            "in" => return self.unexpected("a value"),
            _ if RESERVED.contains(&word) => {
                return Err(Refusal::new(range, format!("`{word}` is a word that CEL keeps for itself")));
            }
            _ => None,
        };
        self.next();
        if let Some(constant) = constant {
            return Ok(Ast::new(Kind::Constant(constant), range));
        }
        let opened = self.range();
        if self.takes("(") {
            let args = self.list(")", &opened)?;
            let range = range.start..self.tokens[self.at - 1].1.end;
            return self.node(Kind::Call(Call { name: word.to_owned(), target: None, args }), range);
        }
        if matches!(self.peek(), Token::Sign("{")) {
            return Err(Refusal::new(range, format!("`{word}` is no message type; there are none here")));
        }
        Ok(Ast::new(Kind::Name(word.to_owned()), range))
    }
}
