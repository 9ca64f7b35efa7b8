//! The whole pipeline, in-process, on packages in temporary folders.
mod files;
mod hostile;
mod package;
mod refusals;
