//! `dietcode tune` from its beginning to its end, and when it is ended before: real compilers, real measurements.
mod cuda_host;
mod ended;
mod made;
mod place;
mod several;
mod strategies;
mod turns;
