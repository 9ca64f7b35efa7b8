//! Shape expressions such as `16*T`, `T + 2`, `2*(T + 1) - B`: affine in the workload variables.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = atom ('*' atom)*                  at most one atom has a variable
//! atom    = number | variable | '(' sum ')' | '-' atom
//! ```

use dietcode_syntax::Affine;

use super::is_identifier;

/// Deeper than anybody writes, and far from the end of the stack.
const MAX_DEPTH: usize = 32;

/// The expression, or what is wrong with it, as "…, expected …".
pub(super) fn parse(text: &str) -> Result<Affine, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let sum = parser.sum()?;
    match parser.peek() {
        None => Ok(sum),
        Some(_) => Err(parser.found("an operator or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Affine, String> {
        let mut sum = self.product()?;
        while let Some(sign) = self.eat("+").then_some(1).or_else(|| self.eat("-").then_some(-1)) {
            sum = sum.add_scaled(&self.product()?, sign).ok_or_else(overflow)?;
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Affine, String> {
        let mut product = self.atom()?;
        while self.eat("*") {
            let factor = self.atom()?;
            let (affine, constant) = match (product.as_constant(), factor.as_constant()) {
                (Some(constant), _) => (factor, constant),
                (None, Some(constant)) => (product, constant),
                (None, None) => {
                    return Err(format!("({product}) * ({factor}) is not affine, expected a number as factor"));
                }
            };
            product = Affine::default().add_scaled(&affine, constant).ok_or_else(overflow)?;
        }
        Ok(product)
    }

    fn atom(&mut self) -> Result<Affine, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression is nested more than {MAX_DEPTH} deep, expected a simpler one"));
        }
        let atom = self.atom_inside();
        self.depth -= 1;
        atom
    }

    fn atom_inside(&mut self) -> Result<Affine, String> {
        if self.eat("-") {
            let atom = self.atom()?;
            return Affine::default().add_scaled(&atom, -1).ok_or_else(overflow);
        }
        if self.eat("(") {
            let sum = self.sum()?;
            return if self.eat(")") { Ok(sum) } else { Err(self.found("`)`")) };
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| format!("found `{word}`, expected a whole number below 2^63"))?;
            return Ok(Affine::constant(number));
        }
        if is_identifier(&word) { Ok(Affine::var(word)) } else { Err(self.found("a number, a variable or `(`")) }
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, symbol: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    /// The letters, digits and underscores that come next; nothing is taken if there are none.
    fn word(&mut self) -> String {
        self.peek();
        let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let word: String = self.text[self.at..].chars().take_while(word).collect();
        self.at += word.len();
        word
    }

    fn found(&mut self, expected: &str) -> String {
        match self.peek() {
            Some(c) => format!("found `{}` at character {}, expected {expected}", c.escape_debug(), self.at + 1),
            None => format!("the expression ends, expected {expected}"),
        }
    }
}

fn overflow() -> String {
    "a coefficient overflows, expected one below 2^63".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affine_expressions() {
        let cases = [
            ("768", "768"),
            ("16*T", "16*T"),
            (" T+2 ", "T + 2"),
            ("2*(T + 1) - B", "-B + 2*T + 2"),
            ("-T*3+4*T", "T"),
            ("T - T", "0"),
            ("(2)*(3*T)*4", "24*T"),
            ("-(-T)", "T"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn others_say_what_is_wrong() {
        let cases = [
            ("", "the expression ends, expected a number, a variable or `(`"),
            ("T*T", "(T) * (T) is not affine, expected a number as factor"),
            ("T T", "found `T` at character 3, expected an operator or the end"),
            ("T/2", "found `/` at character 2, expected an operator or the end"),
            ("2*(T+1", "the expression ends, expected `)`"),
            ("16T", "found `16T`, expected a whole number below 2^63"),
            ("T; system(1)", "found `;` at character 2, expected an operator or the end"),
            ("Ü", "found `Ü` at character 1, expected a number, a variable or `(`"),
            ("99999999999999999999", "found `99999999999999999999`, expected a whole number below 2^63"),
            ("9223372036854775807*2*T", "a coefficient overflows, expected one below 2^63"),
            ("T + 9223372036854775807 + 1", "a coefficient overflows, expected one below 2^63"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        for text in ["(".repeat(100_000), "-".repeat(100_000), format!("{}T{}", "(".repeat(40), ")".repeat(40))] {
            assert!(parse(&text).unwrap_err().contains("nested more than 32 deep"));
        }
    }
}
