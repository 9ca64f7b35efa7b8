//! The dietcode command.
mod cli;

/// A search makes and drops expressions on all cores most of the time that nothing is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
