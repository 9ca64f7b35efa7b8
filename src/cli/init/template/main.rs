mod ops;

use dietcode_core::Error;
use dietcode_core::runtime::Tensor;

fn main() -> Result<(), Error> {
    // Small integers: their sums are exact in any order, so that results can be compared to the bit.
    let w = Tensor::from_fn(&[256, 768], |at| (at % 5) as f32 - 2.0)?;
    for m in [1, 16, 37, 200] {
        let x = Tensor::from_fn(&[m, 768], |at| (at % 7) as f32 - 3.0)?;
        let mut y = Tensor::zeros(&[m, 256])?;
        let start = std::time::Instant::now();
        ops::dense(&x, &w, &mut y)?; // picks a micro-kernel for this shape, and runs it
        let time = start.elapsed();

        let mut expected = Tensor::zeros(&[m, 256])?;
        ops::dense::reference(&x, &w, &mut expected)?; // the loop nest as it stands
        assert_eq!(y.as_slice(), expected.as_slice());
        println!("M = {m:3}: {:6.3} ms, as the nest says", 1e3 * time.as_secs_f64());
    }
    Ok(())
}
