//! The sentence about a constant that the attribute declares with another value than it has.

/// The most bytes that the sentence may have; names of items are seldom longer than a line.
const MOST: usize = 1024;

/// Ends the compiler's evaluation of a check, at its place, with both values; what was not found is left out.
#[doc(hidden)]
#[track_caller]
pub const fn other_constant(name: &str, declared: &str, found: Option<Decimal>) -> ! {
    let mut text = Text { bytes: [0; MOST], length: 0 };
    text.push("the constant `");
    text.push(name);
    text.push("` is ");
    text.push(declared);
    text.push(" in `consts(…)`, but the item `");
    text.push(name);
    text.push("` beside the kernel is ");
    match found {
        Some(Decimal { digits, exponent }) => {
            text.push_number(digits);
            if exponent > 0 {
                text.push("e-");
                text.push_number(exponent);
            }
        }
        None => text.push("another number"),
    }
    text.push(": write the item's value in the attribute");
    match core::str::from_utf8(text.bytes.split_at(text.length).0) {
        Ok(sentence) => panic!("{}", sentence),
        Err(_) => panic!("a declared constant has another value than the item of its name"),
    }
}

/// What the item's value may be: `digits · 10^-exponent`.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Decimal {
    digits: u64,
    exponent: u64,
}

impl Decimal {
    /// How many integers are tried: the compiler objects to checks that take long.
    pub const INTEGERS: u64 = 1 << 16;
    /// How many floats are tried.
    pub const FLOATS: u64 = 1 << 14;

    /// The integers in turn.
    pub const fn integer(at: u64) -> Decimal {
        Decimal { digits: at, exponent: 0 }
    }

    /// Numbers of up to three digits, from large to small.
    pub const fn float(at: u64) -> Decimal {
        Decimal { digits: at % 1024, exponent: at / 1024 }
    }

    /// The number, rounded once.
    pub const fn value(self) -> f64 {
        let (mut power, mut at) = (1.0, 0);
        while at < self.exponent {
            power *= 10.0;
            at += 1;
        }
        self.digits as f64 / power
    }
}

struct Text {
    bytes: [u8; MOST],
    length: usize,
}

impl Text {
    const fn push(&mut self, text: &str) {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.length < MOST {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
    }

    const fn push_number(&mut self, number: u64) {
        if number > 9 {
            self.push_number(number / 10);
        }
        const DIGITS: &str = "0123456789";
        let digit = DIGITS.split_at((number % 10) as usize).1.split_at(1).0;
        self.push(digit);
    }
}

#[cfg(test)]
mod tests {
    use super::{Decimal, other_constant};

    #[test]
    #[should_panic(
        expected = "the constant `K` is 768 in `consts(…)`, but the item `K` beside the kernel is 1024: write the item's value in the attribute"
    )]
    fn both_values_are_named() {
        other_constant("K", "768", Some(Decimal::integer(1024)));
    }

    #[test]
    #[should_panic(expected = "the item `EPS` beside the kernel is 1e-6: write")]
    fn floats_are_named_as_people_write_them() {
        let found = (0..Decimal::FLOATS).map(Decimal::float).find(|tried| tried.value() as f32 == 1e-6);
        other_constant("EPS", "1e-5", found);
    }

    #[test]
    #[should_panic(
        expected = "the constant `EPS` is 1e-5 in `consts(…)`, but the item `EPS` beside the kernel is another number:"
    )]
    fn what_was_not_found_is_left_out() {
        other_constant("EPS", "1e-5", None);
    }
}
