//! GNU C with vector extensions, for GCC ≥ 11 and clang ≥ 14.

use std::fmt::Display;
use std::sync::Arc;

use dietcode_syntax::{KernelDef, mangle};

use super::TranslationUnit;
use super::c_like::{Addresses, Dialect, LINE, element_type, include, write, write_line};
use super::written_out;
use crate::frontend;
use crate::ir::{BinaryOp, Buffer, DType, Expr, ForKind, Function, Intrinsic, Name, Region, Scope, Stmt, affine};
use crate::lower::{LoopNest, lower};
use crate::schedule::Schedule;
use crate::sketch::MicroKernel;
use crate::target::CpuTarget;
use crate::{Error, Result};

/// The translation unit of one micro-kernel.
///
/// # Errors
/// A schedule that is not valid for this nest or target: what [`MicroKernel::violations_on_cpu`] says.
pub fn translation_unit(
    def: &KernelDef,
    micro_kernel: impl Into<MicroKernel>,
    target: &CpuTarget,
) -> Result<TranslationUnit> {
    let micro_kernel = micro_kernel.into();
    let schedule = schedule_of(def, &micro_kernel, target)?;
    let march: String = target.march.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = micro_kernel.name();
    unit_of(def, &name, &format!("{name}_{march}"), &schedule)
}

/// A micro-kernel as one of several in a translation unit, whose functions no other one sees: their text behind a comment that
/// says what they are made of, and the scratch bytes of a thread. Who calls it writes the include.
///
/// # Errors
/// As [`translation_unit`].
pub(super) fn part(
    def: &KernelDef,
    micro_kernel: &MicroKernel,
    target: &CpuTarget,
    [grid_symbol, run_symbol]: [&str; 2],
) -> Result<(String, i64)> {
    let schedule = schedule_of(def, micro_kernel, target)?;
    let nest = lower(&schedule)?;
    let functions = grid_function(&nest, grid_symbol, "static ") + &run_function(&nest, run_symbol, "static ");
    Ok((comment(def, &micro_kernel.name(), &schedule) + &functions, nest.scratch_bytes))
}

/// The schedule that a micro-kernel's parameters stand for, if they are valid.
fn schedule_of(def: &KernelDef, micro_kernel: &MicroKernel, target: &CpuTarget) -> Result<Schedule> {
    let violations = micro_kernel.violations_on_cpu(def, target);
    if !violations.is_empty() {
        let (name, why) = (micro_kernel.name(), violations.join("; "));
        return Err(Error::input(format!("micro-kernel `{name}` of `{}`: {why}", def.name)));
    }
    micro_kernel.schedule_on_cpu(&frontend::program(def), target)
}

/// The translation unit of the nest as the user wrote it, spatial loops outermost: the baseline `naive`.
///
/// # Errors
/// None for a nest that the front end accepts.
pub fn naive(def: &KernelDef) -> Result<TranslationUnit> {
    let program = frontend::program(def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    if let Some(first) = program.blocks[0].iters_of(dietcode_syntax::Role::Spatial).next() {
        schedule.parallel(&first.name)?;
    }
    if program.blocks[0].reduction.is_some() {
        schedule.decompose_reduction()?;
    }
    unit(def, "naive", &schedule)
}

/// Lowers and prints any schedule of a kernel.
///
/// # Errors
/// As [`lower`].
pub fn unit(def: &KernelDef, name: &str, schedule: &Schedule) -> Result<TranslationUnit> {
    unit_of(def, name, name, schedule)
}

/// Prints any schedule of a kernel that is lowered already.
///
/// # Errors
/// A schedule for a GPU.
pub fn printed(def: &KernelDef, name: &str, schedule: &Schedule, nest: &LoopNest) -> Result<TranslationUnit> {
    for_cpu(def, name, schedule)?;
    Ok(unit_with(def, [name, name], schedule, nest))
}

/// Why a statement cannot come here: [`for_cpu`] refuses the schedules that lead to it.
const GPU_ONLY: &str = "a schedule for a GPU is not printed as C";

fn for_cpu(def: &KernelDef, name: &str, schedule: &Schedule) -> Result<()> {
    match schedule.is_gpu() {
        true => Err(Error::input(format!("{GPU_ONLY}: `{name}` of `{}`", def.name))),
        false => Ok(()),
    }
}

/// A unit whose symbols have another name.
fn unit_of(def: &KernelDef, name: &str, symbol: &str, schedule: &Schedule) -> Result<TranslationUnit> {
    for_cpu(def, name, schedule)?;
    Ok(unit_with(def, [name, symbol], schedule, &lower(schedule)?))
}

fn unit_with(def: &KernelDef, [name, symbol]: [&str; 2], schedule: &Schedule, nest: &LoopNest) -> TranslationUnit {
    let hash = def.source_hash();
    let grid_symbol = mangle::grid_symbol(&def.name, hash, symbol);
    let run_symbol = mangle::run_symbol(&def.name, hash, symbol);
    let mut source = comment(def, name, schedule) + &include([def]) + "\n\n";
    source += &grid_function(nest, &grid_symbol, "");
    source += &run_function(nest, &run_symbol, "");
    TranslationUnit { name: name.into(), grid_symbol, run_symbol, scratch_bytes: nest.scratch_bytes, source }
}

/// The comment that says what a micro-kernel is made of.
fn comment(def: &KernelDef, name: &str, schedule: &Schedule) -> String {
    let mut text = format!("/* Micro-kernel `{name}` of `{}`, generated by dietcode.\n *\n", def.name);
    for line in def.to_string().lines() {
        text += &format!(" *   {line}\n");
    }
    text += " *\n * Schedule:\n";
    for instruction in schedule.trace() {
        text += &format!(" *   {instruction}\n");
    }
    text + " */\n"
}

fn shape_variables(nest: &LoopNest) -> String {
    let lines = nest.shape_vars.iter().enumerate();
    lines.map(|(n, var)| format!("  const dietcode_int {var} = dietcode_shape[{n}];\n")).collect()
}

fn grid_function(nest: &LoopNest, symbol: &str, linkage: &str) -> String {
    let extent = nest.grid.as_ref().map_or(Expr::Int(1), |(_, extent)| extent.clone());
    let extent = Addresses::default().text(&extent);
    let variables = shape_variables(nest);
    format!("{linkage}int64_t {symbol}(const int64_t *dietcode_shape) {{\n{variables}  return {extent};\n}}\n\n")
}

fn run_function(nest: &LoopNest, symbol: &str, linkage: &str) -> String {
    let mut printer = Printer::new(nest);
    printer.text = format!(
        "{linkage}void {symbol}(void *const *dietcode_buffers, const int64_t *dietcode_strides, const int64_t *dietcode_shape,\n    \
         void *dietcode_scratch, int64_t dietcode_begin, int64_t dietcode_end) {{\n"
    );
    printer.text += &shape_variables(nest);
    printer.params(nest);
    for (name, value) in &nest.derived {
        let value = printer.addresses.text(value);
        printer.line(format_args!("const dietcode_int {name} = {value};"));
    }
    match &nest.grid {
        Some((tile, _)) => {
            printer.open(format_args!("for (dietcode_int {tile} = dietcode_begin; {tile} < dietcode_end; ++{tile})"));
            printer.stmt(&nest.body);
            printer.close();
        }
        None => {
            printer.open(format_args!("if (dietcode_begin < dietcode_end)"));
            printer.stmt(&nest.body);
            printer.close();
        }
    }
    printer.text + "}\n"
}

/// Prints statements.
struct Printer {
    text: String,
    depth: usize,
    addresses: Addresses,
    /// Offsets of the panels in a thread's scratch memory.
    panels: Vec<(Arc<Buffer>, i64)>,
}

impl Printer {
    fn new(nest: &LoopNest) -> Printer {
        let mut taken: Vec<Name> = nest.shape_vars.clone();
        taken.extend(nest.derived.iter().map(|(name, _)| name.clone()));
        taken.extend(nest.params.iter().map(|param| param.name.clone()));
        taken.extend(nest.grid.iter().map(|(name, _)| name.clone()));
        nest.body.visit(&mut |stmt| match stmt {
            Stmt::For { var, .. } | Stmt::Let { var, .. } => taken.push(var.clone()),
            Stmt::Allocate { buffer, .. } | Stmt::View { view: buffer, .. } => taken.push(buffer.name.clone()),
            _ => {}
        });
        let panels = nest.panels.clone();
        let addresses = Addresses::new(taken, Dialect::C);
        Printer { text: String::new(), depth: 1, addresses, panels }
    }

    fn line(&mut self, text: impl Display) {
        write_line(&mut self.text, self.depth, format_args!("{text}"));
    }

    /// Opens a block; without a head it is a scope for declarations.
    fn open(&mut self, head: impl Display) {
        let head = format!("{head} {{");
        self.line(head.trim_start());
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// The pointers and strides of the tensors, and the values of scalars.
    fn params(&mut self, nest: &LoopNest) {
        let mut at = 0;
        for (n, param) in nest.params.iter().enumerate() {
            let constant = if param == &nest.output { "" } else { "const " };
            let element = element_type(param.dtype);
            if param.is_scalar() {
                let name = &param.name;
                self.line(format_args!("const {element} {name} = *(const {element} *)dietcode_buffers[{n}];"));
                continue;
            }
            self.line(format_args!("{constant}{element} *restrict {} = dietcode_buffers[{n}];", param.name));
            let rank = param.shape.len();
            for (dim, name) in self.addresses.declare(param, |dim| dim + 1 == rank) {
                self.line(format_args!("const dietcode_int {name} = dietcode_strides[{}];", at + dim));
            }
            at += rank;
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if let Some((var, extent, body)) = written_out::loop_of(stmt) {
            for value in 0..extent {
                self.addresses.values.enter(var, value);
                self.in_sequence(body);
                self.addresses.values.leave();
            }
            return;
        }
        match stmt {
            Stmt::For { var, extent, kind: ForKind::Vectorized, body } => self.vector(var, extent, body),
            Stmt::For { var, extent, body, .. } => {
                let extent = self.addresses.text(extent);
                self.open(format_args!("for (dietcode_int {var} = 0; {var} < {extent}; ++{var})"));
                self.stmt(body);
                self.close();
            }
            Stmt::Let { var, value, body } => {
                let value = self.addresses.text(value);
                self.line(format_args!("const dietcode_int {var} = {value};"));
                self.stmt(body);
            }
            Stmt::Store { buffer, index, value } => {
                let (to, value) = (self.addresses.element(buffer, index), self.addresses.text(value));
                match buffer.dtype {
                    DType::F32 => self.line(format_args!("{to} = {value};")),
                    half => self.line(format_args!("{to} = dietcode_round_{half}({value});")),
                }
            }
            Stmt::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
            Stmt::Allocate { buffer, body } => self.allocate(buffer, body),
            Stmt::View { view, inside, whole, edge, fill, body } => {
                self.view(view, inside, [whole, edge], fill);
                self.stmt(body);
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                let condition = self.addresses.text(condition);
                self.open(format_args!("if ({condition})"));
                self.stmt(then);
                if let Some(otherwise) = otherwise {
                    self.depth -= 1;
                    self.open("} else");
                    self.stmt(otherwise);
                }
                self.close();
            }
            Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| self.in_sequence(stmt)),
            Stmt::Sync => unreachable!("{GPU_ONLY}"),
        }
    }

    /// Statements that stand side by side may declare the same names.
    fn in_sequence(&mut self, stmt: &Stmt) {
        if matches!(stmt, Stmt::Let { .. } | Stmt::View { .. }) {
            self.open("");
            self.stmt(stmt);
            self.close();
        } else {
            self.stmt(stmt);
        }
    }

    /// A buffer's declaration, in a block of its own.
    fn allocate(&mut self, buffer: &Arc<Buffer>, body: &Stmt) {
        let (name, element) = (&buffer.name, element_type(buffer.dtype));
        self.open("");
        match buffer.scope {
            Scope::Register => self.registers(buffer, body),
            Scope::Panel => {
                let offset = self.panels.iter().find(|(panel, _)| panel == buffer).map_or(0, |(_, offset)| *offset);
                self.line(format_args!(
                    "{element} *restrict {name} = ({element} *)((char *)dietcode_scratch + {offset});"
                ));
            }
            Scope::Shared | Scope::Fragment => unreachable!("{GPU_ONLY}"),
            Scope::Local | Scope::Global | Scope::View => {
                let elements = buffer.bytes().unwrap_or(0) / buffer.dtype.bytes();
                self.line(format_args!("_Alignas(64) {element} {name}[{elements}];"));
            }
        }
        self.stmt(body);
        self.close();
    }

    /// One variable for each vector (or scalar) of a tile in registers.
    fn registers(&mut self, buffer: &Arc<Buffer>, body: &Stmt) {
        let lanes = lanes_of(buffer, body);
        let dims = buffer.shape.len() - usize::from(lanes.is_some());
        let extents: Vec<i64> = buffer.shape[..dims].iter().filter_map(Expr::as_int).collect();
        let mut names = vec![Vec::new()];
        for extent in extents {
            names =
                names.iter().flat_map(|at| (0..extent).map(|i| [at.clone(), vec![Expr::Int(i)]].concat())).collect();
        }
        let names: Vec<String> = names.iter().map(|at| self.addresses.element(buffer, at)).collect();
        let kind = lanes.map_or("float".to_owned(), |lanes| format!("dietcode_f32x{lanes}"));
        self.line(format_args!("{kind} {};", names.join(", ")));
    }

    /// Chooses between the tensor and its padded copy.
    fn view(&mut self, view: &Arc<Buffer>, inside: &Expr, regions: [&Region; 2], fill: &Stmt) {
        let strides = regions.map(|region| self.addresses.view_strides(region));
        let unit = |dim: usize| strides.iter().all(|strides| strides[dim] == Expr::Int(1));
        let variables = self.addresses.declare(view, unit);
        self.line(format_args!("const {} *{};", element_type(view.dtype), view.name));
        for (_, name) in &variables {
            self.line(format_args!("dietcode_int {name};"));
        }
        let condition = self.addresses.text(inside);
        self.open(format_args!("if ({condition})"));
        self.point(view, regions[0], &strides[0], &variables);
        self.depth -= 1;
        self.open("} else");
        self.stmt(fill);
        self.point(view, regions[1], &strides[1], &variables);
        self.close();
    }

    fn point(&mut self, view: &Arc<Buffer>, region: &Region, strides: &[Expr], variables: &[(usize, Name)]) {
        let offset = self.addresses.text(&self.addresses.offset(&region.buffer, &region.base));
        self.line(format_args!("{} = {} + {offset};", view.name, region.buffer.name));
        for (dim, name) in variables {
            let stride = self.addresses.text(&strides[*dim]);
            self.line(format_args!("{name} = {stride};"));
        }
    }

    /// A store of all lanes at once.
    fn vector(&mut self, lane: &Name, extent: &Expr, body: &Stmt) {
        let (Stmt::Store { buffer, index, value }, Some(lanes)) = (body, extent.as_int()) else {
            unreachable!("the vectorize pass leaves only plain stores of constant width in vectorized loops: {body}");
        };
        let mut line = String::with_capacity(LINE);
        if buffer.dtype.is_half() {
            write(&mut line, format_args!("dietcode_store_{}x{lanes}(&", buffer.dtype));
            self.first_lane(buffer, index, lane, &mut line);
            line.push_str(", ");
            self.all_lanes(value, lane, lanes, &mut line);
            line.push_str(");");
            return self.line(line);
        }
        self.lanes(buffer, index, lane, lanes, true, &mut line);
        match value {
            Expr::Binary(BinaryOp::Add, sum, term) if matches!(&**sum, Expr::Load(b, i) if b == buffer && i == index) =>
            {
                line.push_str(" += ");
                self.lanewise(term, lane, lanes, &mut line);
            }
            value => {
                line.push_str(" = ");
                self.all_lanes(value, lane, lanes, &mut line);
            }
        }
        line.push(';');
        self.line(line);
    }

    /// An expression as a vector, also where it does not depend on the lane: a scalar is not assigned to a vector, but
    /// broadcast by an operation; `x - 0` is `x` also for `x = -0`.
    fn all_lanes(&self, e: &Expr, lane: &Name, lanes: i64, text: &mut String) {
        self.lanewise(e, lane, lanes, text);
        if !e.uses(lane) {
            write(text, format_args!(" - (dietcode_f32x{lanes}){{0}}"));
        }
    }

    /// The vector of neighbours along the lane.
    fn lanes(&self, buffer: &Arc<Buffer>, index: &[Expr], lane: &Name, lanes: i64, store: bool, text: &mut String) {
        if buffer.scope == Scope::Register {
            return self.addresses.write_element(buffer, index, text);
        }
        match (store, buffer.dtype) {
            (true, _) => write(text, format_args!("*(dietcode_f32x{lanes}u *)&")),
            (false, DType::F32) => write(text, format_args!("*(const dietcode_f32x{lanes}u *)&")),
            (false, half) => write(text, format_args!("dietcode_load_{half}x{lanes}(&")),
        }
        self.first_lane(buffer, index, lane, text);
        text.push_str(if !store && buffer.dtype.is_half() { ")" } else { "" });
    }

    /// The element in memory that is the first of a vector along the lane.
    fn first_lane(&self, buffer: &Arc<Buffer>, index: &[Expr], lane: &Name, text: &mut String) {
        self.addresses.write_element(buffer, &at_lane(index, lane, 0), text);
    }

    /// An expression for all lanes; what does not depend on the lane stays a scalar, which C broadcasts.
    fn lanewise(&self, e: &Expr, lane: &Name, lanes: i64, text: &mut String) {
        match e {
            uniform if !uniform.uses(lane) => self.addresses.write_operand(uniform, text),
            Expr::Load(buffer, index) if self.is_contiguous(buffer, index, lane) => {
                self.lanes(buffer, index, lane, lanes, false, text);
            }
            Expr::Load(buffer, index) => {
                write(text, format_args!("(dietcode_f32x{lanes}){{"));
                for n in 0..lanes {
                    text.push_str(if n == 0 { "" } else { ", " });
                    self.addresses.write_operand(&Expr::Load(buffer.clone(), at_lane(index, lane, n)), text);
                }
                text.push('}');
            }
            Expr::Call(Function::Neg, args) => {
                text.push_str("(-");
                self.lanewise(&args[0], lane, lanes, text);
                text.push(')');
            }
            Expr::Binary(op, a, b) => {
                self.lanewise_operand(a, lane, lanes, text);
                write(text, format_args!(" {op} "));
                self.lanewise_operand(b, lane, lanes, text);
            }
            other => unreachable!("the vectorize pass leaves only lane-wise arithmetic in vectorized loops: {other}"),
        }
    }

    fn lanewise_operand(&self, e: &Expr, lane: &Name, lanes: i64, text: &mut String) {
        let open = matches!(e, Expr::Binary(..)) && e.uses(lane);
        text.push_str(if open { "(" } else { "" });
        self.lanewise(e, lane, lanes, text);
        text.push_str(if open { ")" } else { "" });
    }

    fn is_contiguous(&self, buffer: &Arc<Buffer>, index: &[Expr], lane: &Name) -> bool {
        if buffer.scope == Scope::Register {
            return true;
        }
        let strides = self.addresses.strides(buffer);
        index.iter().zip(&strides).all(|(e, stride)| match affine(e).map(|form| form.coefficient(lane)) {
            Some(0) => true,
            Some(1) => *stride == Expr::Int(1),
            _ => false,
        })
    }

    fn intrinsic(&mut self, intrinsic: &Intrinsic) {
        let Intrinsic::TransposeCopy { to, to_index, to_stride, from, from_index, from_dim, lanes, valid, columns } =
            intrinsic
        else {
            unreachable!("{GPU_ONLY}")
        };
        let (to, from_at) = (self.addresses.element(to, to_index), self.addresses.element(from, from_index));
        let stride = self.addresses.text(&self.addresses.strides(from)[*from_dim]);
        let (valid, columns) = (self.addresses.text(valid), self.addresses.text(columns));
        self.line(format_args!(
            "dietcode_transpose{lanes}_{}(&{to}, {to_stride}, &{from_at}, {stride}, {valid}, {columns});",
            from.dtype
        ));
    }
}

/// An index where the lane is this one.
fn at_lane(index: &[Expr], lane: &Name, n: i64) -> Vec<Expr> {
    index.iter().map(|e| e.substitute(lane, &Expr::Int(n))).collect()
}

/// How many lanes the vectors of a tile in registers have; none: scalars.
fn lanes_of(buffer: &Arc<Buffer>, body: &Stmt) -> Option<i64> {
    let mut lanes = None;
    body.visit(&mut |stmt| {
        if let Stmt::For { var, extent, kind: ForKind::Vectorized, body } = stmt
            && let Stmt::Store { buffer: to, index, value } = &**body
        {
            let mut touches = to == buffer && index.iter().any(|e| e.uses(var));
            value.visit(&mut |e| {
                touches |= matches!(e, Expr::Load(from, i) if from == buffer && i.iter().any(|e| e.uses(var)));
            });
            if touches {
                lanes = extent.as_int();
            }
        }
    });
    lanes
}
