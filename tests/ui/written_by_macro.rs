use dietcode_macros::dynamic_kernel;

macro_rules! scaled {
    ($name:ident, $by:literal) => {
        #[dynamic_kernel]
        fn $name(x: &[f32; M], y: &mut [f32; M]) {
            for i in 0..M {
                y[i] = $by * x[i];
            }
        }
    };
}

scaled!(twice, 2.0);

fn main() {}
