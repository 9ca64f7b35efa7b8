//! The sentence about a constant that the attribute declares with another value than it has.

/// The most bytes that the sentence may have; names of items are seldom longer than a line.
const MOST: usize = 1024;

/// Ends the compiler's evaluation of a check, at its place, with both values; what was not found is left out.
#[doc(hidden)]
#[track_caller]
pub const fn other_constant(name: &str, declared: &str, found: Option<u64>) -> ! {
    let mut text = Text { bytes: [0; MOST], length: 0 };
    text.push("the constant `");
    text.push(name);
    text.push("` is ");
    text.push(declared);
    text.push(" in `consts(…)`, but the item `");
    text.push(name);
    text.push("` beside the kernel is ");
    match found {
        Some(value) => text.push_number(value),
        None => text.push("another number"),
    }
    text.push(": write the item's value in the attribute");
    match core::str::from_utf8(text.bytes.split_at(text.length).0) {
        Ok(sentence) => panic!("{}", sentence),
        Err(_) => panic!("a declared constant has another value than the item of its name"),
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
    use super::other_constant;

    #[test]
    #[should_panic(
        expected = "the constant `K` is 768 in `consts(…)`, but the item `K` beside the kernel is 1024: write the item's value in the attribute"
    )]
    fn both_values_are_named() {
        other_constant("K", "768", Some(1024));
    }

    #[test]
    #[should_panic(
        expected = "the constant `EPS` is 1e-5 in `consts(…)`, but the item `EPS` beside the kernel is another number:"
    )]
    fn what_was_not_found_is_left_out() {
        other_constant("EPS", "1e-5", None);
    }
}
