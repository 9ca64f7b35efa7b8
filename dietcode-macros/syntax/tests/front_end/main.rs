//! What the front end reads in functions, and what it refuses.
mod canonical;
mod constants;
mod helpers;
mod limits;
mod meaning;
mod mutations;
mod prepared;
mod ranges;
mod scalars;
mod scan;
mod stack;
