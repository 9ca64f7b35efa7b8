//! What the fastest candidate of a call depends on: fields, compared as numbers where a call is made and shown as text where a result is
//! kept.

use crate::runtime::inline::Inline;

/// The most fields of a key.
pub const MAX_FIELDS: usize = 48;

/// The fields of one call, in the order in which they were added. Calls with equal fields share a result.
///
/// One function adds the fields for both uses, so the numbers and the text cannot drift apart; only a key that is asked for its text
/// pays for it.
pub struct Key {
    words: Inline<u64, MAX_FIELDS>,
    hash: u64,
    added: usize,
    text: Option<String>,
}

impl Key {
    /// A key for a look-up.
    pub(super) fn new() -> Key {
        Key { words: Inline::new(), hash: 0, added: 0, text: None }
    }

    /// One that is shown.
    pub(super) fn with_text() -> Key {
        Key { text: Some(String::new()), ..Key::new() }
    }

    /// Adds a field that is a number, such as a size.
    #[inline]
    pub fn add(&mut self, name: &str, value: u64) {
        self.add_as(name, value, |text| *text += &value.to_string());
    }

    /// Adds a field whose number stands for something else; `show` writes what it is, different for different numbers.
    #[inline]
    pub fn add_as(&mut self, name: &str, value: u64, show: impl FnOnce(&mut String)) {
        self.added += 1;
        if self.added <= MAX_FIELDS {
            self.words.push(value);
            // The hash of rustc's compiler, FxHash: a rotation and a product for a word.
            self.hash = (self.hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        if let Some(text) = &mut self.text {
            let separator = if text.is_empty() { "" } else { " " };
            text.push_str(separator);
            text.push_str(name);
            text.push('=');
            show(text);
        }
    }

    /// The numbers; nothing if there are more than [`MAX_FIELDS`].
    #[inline]
    pub(super) fn words(&self) -> Option<&[u64]> {
        (self.added <= MAX_FIELDS).then_some(&self.words)
    }

    /// A number that equal keys share; its upper bits are the better ones.
    #[inline]
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// The fields as text, if they were asked for.
    pub(super) fn into_text(self) -> String {
        self.text.unwrap_or_default()
    }
}
