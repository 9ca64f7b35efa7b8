//! What runs in a user's program: tensors, the pool, the launch.
