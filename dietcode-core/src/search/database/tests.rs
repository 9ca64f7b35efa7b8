//! The database: what was written is read again, whatever else is in the file and whoever else writes.
