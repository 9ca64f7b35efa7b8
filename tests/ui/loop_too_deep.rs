use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i0 in 0..M {
        for i1 in 0..M {
            for i2 in 0..M {
                for i3 in 0..M {
                    for i4 in 0..M {
                        for i5 in 0..M {
                            for i6 in 0..M {
                                for i7 in 0..M {
                                    for i8 in 0..M {
                                        for i9 in 0..M {
                                            for i10 in 0..M {
                                                for i11 in 0..M {
                                                    for i12 in 0..M {
                                                        for i13 in 0..M {
                                                            for i14 in 0..M {
                                                                for i15 in 0..M {
                                                                    for i16 in 0..M {
                                                                        y[i0] += 1.0;
                                                                    }
                                                                }
                                                            }
                                                        }
                                                    }
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn main() {}
