//! The tests of the compiler, from a nest to what its micro-kernels compute, in one program: one module, one kind of test.
//! `tests/README.md` says what each holds. `cargo test -p dietcode-core --features tuner,ndarray,results --test compiler lowering::` runs one.

mod common;
mod config;
mod cross_thread;
mod cuda_directed;
mod cuda_host;
mod cuda_lowering;
mod cuda_property;
mod cuda_space;
mod documents;
mod dot;
mod double;
mod dumps;
mod families;
mod family_conditions;
mod fragments;
mod functions;
mod gemm;
mod golden;
mod half_conversions;
mod imports;
mod integers;
mod lowering;
mod micro_kernels;
mod occupancy;
mod property;
mod rows;
mod space;
mod stream_k;
mod swizzle;
mod tf32;
mod traces;
mod tuned_file;
mod walk_through;
mod views_at_edges;
mod windows;
