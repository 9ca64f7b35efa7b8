//! The row of a micro-kernel: what its unit exports.

/// What the row says, as `struct dietcode_micro_kernel` has it.
#[derive(Default)]
pub(crate) struct Row<'a> {
    /// Its C symbol.
    pub(crate) symbol: &'a str,
    /// The micro-kernel's name.
    pub(crate) name: &'a str,
    /// Bytes of scratch memory of a thread.
    pub(crate) scratch_bytes: i64,
    /// What the functions of each phase are called, but for `_grid` and `_run` at the end.
    pub(crate) phases: Vec<String>,
    /// The function that counts the workspace's bytes.
    pub(crate) workspace: Option<String>,
    /// The sizes that the functions take behind the shape variables.
    pub(crate) parameters: Vec<i64>,
}

impl Row<'_> {
    /// The definition, to stand behind those of its functions.
    pub(crate) fn text(&self) -> String {
        let Row { symbol, name, scratch_bytes, phases, workspace, parameters } = self;
        let functions: Vec<String> = phases.iter().map(|phase| format!("{{{phase}_grid, {phase}_run}}")).collect();
        let phases = array("phases", "struct dietcode_phase", &functions);
        let parameters: Vec<String> = parameters.iter().map(i64::to_string).collect();
        let parameters =
            if parameters.is_empty() { String::new() } else { array("parameters", "int64_t", &parameters) };
        let bytes = workspace.as_ref().map_or_else(String::new, |bytes| format!("  .workspace_bytes = {bytes},\n"));
        format!(
            "const struct dietcode_micro_kernel {symbol} = {{
  .name = {name:?},
  .cpu_features = DIETCODE_CPU_FEATURES,
  .scratch_bytes = {scratch_bytes},
{phases}{bytes}{parameters}}};\n"
        )
    }
}

/// The members that say where items lie and how many there are.
fn array(member: &str, item: &str, items: &[String]) -> String {
    format!("  .{member} = (const {item}[]){{{}}},\n  .{member}_len = {},\n", items.join(", "), items.len())
}
