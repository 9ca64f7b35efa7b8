use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
struct NotAFunction;

const _: NotAFunction = NotAFunction;

fn main() {}
