//! The whole pipeline, in-process, on packages in temporary folders.
mod cuda;
mod files;
mod hostile;
mod package;
mod refusals;
