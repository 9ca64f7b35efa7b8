//! cost_model
