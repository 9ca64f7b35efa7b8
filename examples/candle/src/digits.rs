//! Images of handwritten digits, 8 by 8.

use candle_core::{Device, Result, Tensor};

/// The pixels of an image.
pub const PIXELS: usize = 64;
/// What it may show.
pub const CLASSES: usize = 10;

/// Where images are, and what they show.
pub struct Digits {
    /// One image a row, from 0 (white) to 1 (black).
    pub images: Tensor,
    /// The digit of each.
    pub labels: Vec<u8>,
}

impl Digits {
    /// All images of the file.
    pub fn read() -> Result<Digits> {
        let lines = include_str!("../digits.txt").lines().filter(|line| !line.starts_with('#'));
        let (mut labels, mut pixels) = (Vec::new(), Vec::new());
        for (label, image) in lines.filter_map(|line| line.split_once(' ')) {
            labels.extend(label.bytes().map(|digit| digit - b'0'));
            pixels.extend(image.chars().filter_map(|pixel| pixel.to_digit(17)).map(|grey| grey as f32 / 16.0));
        }
        let images = Tensor::from_vec(pixels, (labels.len(), PIXELS), &Device::Cpu)?;
        Ok(Digits { images, labels })
    }

    /// So many images from one on. They stay where they are.
    pub fn part(&self, first: usize, count: usize) -> Result<Digits> {
        let images = self.images.narrow(0, first, count)?;
        Ok(Digits { images, labels: self.labels[first..first + count].to_vec() })
    }

    /// A row for each image, 1 at its digit and 0 elsewhere.
    pub fn one_hot(&self) -> Result<Tensor> {
        let row = |label: &u8| (0..CLASSES).map(|class| f32::from(u8::from(class == usize::from(*label)))).collect();
        let rows: Vec<Vec<f32>> = self.labels.iter().map(row).collect();
        Tensor::new(rows, &Device::Cpu)
    }
}
