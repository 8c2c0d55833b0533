//! Random kernels as IR text, drawn from a string of bytes: every string gives a valid kernel that ends, does not race,
//! and keeps collective operations where all lanes reach them. Knows IR syntax, not how it is run.

use std::fmt::Write as _;

/// Integer variables of a kernel.
const INTS: usize = 4;
/// Floating variables of a kernel.
const FLOATS: usize = 3;
/// Words per thread of input and of output.
pub const WORDS: usize = INTS + FLOATS;
/// Threads per group.
pub const THREADS: u32 = 64;
/// Elements of the read-only table.
pub const TABLE: u32 = 64;

/// Choices drawn from bytes; zeros when they run out, which every choice treats as the simplest case.
struct Choice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Choice<'_> {
    fn below(&mut self, n: u32) -> u32 {
        let b = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        u32::from(b) % n.max(1)
    }

    fn word(&mut self) -> u32 {
        (0..4).fold(0, |w, _| w << 8 | self.below(256))
    }

    fn spent(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

/// Values of the variables at a point.
type Vars = Vec<String>;

struct Gen<'a> {
    c: Choice<'a>,
    body: String,
    next: u32,
    /// Label of the block being written.
    block: String,
    /// Statements that may still be made.
    fuel: u32,
    /// Edges to the function's end.
    returns: Vec<(String, Vars)>,
    /// Targets of `break` and `continue`, innermost last.
    loops: Vec<LoopEdges>,
}

struct LoopEdges {
    exit: String,
    latch: String,
    breaks: Vec<(String, Vars)>,
    continues: Vec<(String, Vars)>,
}

/// A kernel `k(ptr in, ptr table, ptr out)` of `THREADS` threads a group.
pub fn kernel(bytes: &[u8]) -> String {
    let mut g = Gen {
        c: Choice { bytes, at: 0 },
        body: String::new(),
        next: 0,
        block: "entry".to_owned(),
        fuel: 60,
        returns: Vec::new(),
        loops: Vec::new(),
    };
    let mut vars = g.prologue();
    let alive = g.list(&mut vars, 0, true);
    if alive {
        let at = (g.block.clone(), vars);
        g.emit("br label %end");
        g.returns.push(at);
    }
    let returns = std::mem::take(&mut g.returns);
    g.epilogue(&returns);
    let mut out = String::from(HEADER);
    out.push_str(&g.body);
    out.push_str("}\n");
    out
}

const HEADER: &str = r"
@tile = internal addrspace(3) global [64 x i32] undef, align 4
declare i32 @__ks_sr(i32)
declare void @__ks_threadgroup_barrier(i32)
declare i32 @__ks_shuffle_xor_i32(i32, i32)
declare i32 @__ks_simd_sum_i32(i32)
declare i32 @__ks_simd_max_u32(i32)
declare i64 @__ks_ballot(i32)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.floor.f32(float)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)

define internal i32 @mix(i32 %a, i32 %b) {
  %c = icmp slt i32 %a, %b
  br i1 %c, label %less, label %more
less:
  %s = add i32 %a, %b
  ret i32 %s
more:
  %d = sub i32 %a, %b
  %z = icmp eq i32 %d, 7
  br i1 %z, label %less, label %out
out:
  %x = xor i32 %d, 1234567
  ret i32 %x
}

define spir_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %table, ptr addrspace(1) %out) {
entry:
";

impl Gen<'_> {
    fn emit(&mut self, line: &str) {
        let _ = writeln!(self.body, "  {line}");
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Emits `%n = …` and returns the name.
    fn def(&mut self, rhs: &str) -> String {
        let n = format!("%v{}", self.fresh());
        self.emit(&format!("{n} = {rhs}"));
        n
    }

    fn start(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
        label.clone_into(&mut self.block);
    }

    fn prologue(&mut self) -> Vars {
        self.emit("%gid = call i32 @__ks_sr(i32 19)");
        self.emit("%tid = call i32 @__ks_sr(i32 0)");
        self.emit("%lane = call i32 @__ks_sr(i32 12)");
        self.emit("%group = call i32 @__ks_sr(i32 3)");
        self.emit("%scratch = alloca [8 x i32], align 4");
        for k in 0..8 {
            let p = self.def(&format!("getelementptr inbounds [8 x i32], ptr %scratch, i64 0, i64 {k}"));
            self.emit(&format!("store i32 {k}, ptr {p}, align 4"));
        }
        self.emit(&format!("%first = mul i32 %gid, {WORDS}"));
        let mut vars = Vars::new();
        for k in 0..WORDS {
            let i = self.def(&format!("add i32 %first, {k}"));
            let w = self.def(&format!("sext i32 {i} to i64"));
            let p = self.def(&format!("getelementptr inbounds i32, ptr addrspace(1) %in, i64 {w}"));
            let ty = if k < INTS { "i32" } else { "float" };
            vars.push(self.def(&format!("load {ty}, ptr addrspace(1) {p}, align 4")));
        }
        vars
    }

    fn epilogue(&mut self, returns: &[(String, Vars)]) {
        let vars = self.join("end", returns);
        for (k, v) in vars.iter().enumerate() {
            let i = self.def(&format!("add i32 %first, {k}"));
            let w = self.def(&format!("sext i32 {i} to i64"));
            let p = self.def(&format!("getelementptr inbounds i32, ptr addrspace(1) %out, i64 {w}"));
            let ty = if k < INTS { "i32" } else { "float" };
            self.emit(&format!("store {ty} {v}, ptr addrspace(1) {p}, align 4"));
        }
        self.emit("ret void");
    }

    /// Starts block `label` with a phi for each variable.
    fn join(&mut self, label: &str, edges: &[(String, Vars)]) -> Vars {
        self.start(label);
        if edges.is_empty() {
            // Nothing comes here: values of any kind will do.
            return (0..WORDS).map(|k| if k < INTS { "0".to_owned() } else { "0.0".to_owned() }).collect();
        }
        (0..WORDS)
            .map(|k| {
                let ty = if k < INTS { "i32" } else { "float" };
                let list: Vec<String> = edges.iter().map(|(b, v)| format!("[ {}, %{b} ]", v[k])).collect();
                self.def(&format!("phi {ty} {}", list.join(", ")))
            })
            .collect()
    }

    /// A list of statements; says whether control reaches its end. `uniform`: do all lanes get here together?
    fn list(&mut self, vars: &mut Vars, depth: u32, uniform: bool) -> bool {
        let n = 1 + self.c.below(if depth == 0 { 8 } else { 4 });
        for _ in 0..n {
            if self.fuel == 0 || self.c.spent() {
                return true;
            }
            self.fuel -= 1;
            if !self.statement(vars, depth, uniform) {
                return false;
            }
        }
        true
    }

    fn statement(&mut self, vars: &mut Vars, depth: u32, uniform: bool) -> bool {
        match self.c.below(16) {
            0..=4 => self.assign_int(vars),
            5..=7 => self.assign_float(vars),
            8 => self.memory(vars),
            9 | 10 if depth < 4 => self.branch(vars, depth),
            11 | 12 if depth < 3 => self.repeat(vars, depth),
            13 if uniform && self.returns.is_empty() => self.collective(vars),
            14 if !self.loops.is_empty() => return self.leave(vars),
            15 if depth > 0 && self.c.below(3) == 0 && !uniform => {
                let at = (self.block.clone(), vars.clone());
                self.emit("br label %end");
                self.returns.push(at);
                return false;
            }
            _ => self.assign_int(vars),
        }
        true
    }

    fn int(&mut self, vars: &Vars) -> String {
        match self.c.below(8) {
            0 => "%lane".to_owned(),
            1 => "%group".to_owned(),
            2 => (self.c.below(256) as i32 - 100).to_string(),
            3 => (self.c.word() as i32).to_string(),
            k => vars[k as usize % INTS].clone(),
        }
    }

    fn float(&mut self, vars: &Vars) -> String {
        match self.c.below(5) {
            0 => ["0.0", "1.0", "-2.5", "0.125", "1024.0"][self.c.below(5) as usize].to_owned(),
            k => vars[INTS + k as usize % FLOATS].clone(),
        }
    }

    fn assign_int(&mut self, vars: &mut Vars) {
        let (a, b) = (self.int(vars), self.int(vars));
        let r = match self.c.below(22) {
            0 => self.def(&format!("add i32 {a}, {b}")),
            1 => self.def(&format!("sub i32 {a}, {b}")),
            2 => self.def(&format!("mul i32 {a}, {b}")),
            3 => self.def(&format!("and i32 {a}, {b}")),
            4 => self.def(&format!("or i32 {a}, {b}")),
            5 => self.def(&format!("xor i32 {a}, {b}")),
            op @ 6..=8 => {
                let s = self.def(&format!("and i32 {b}, 31"));
                let name = ["shl", "lshr", "ashr"][op as usize - 6];
                self.def(&format!("{name} i32 {a}, {s}"))
            }
            op @ 9..=12 => {
                let d = self.def(&format!("or i32 {b}, 1"));
                let d = self.def(&format!("and i32 {d}, 65535"));
                let name = ["udiv", "urem", "sdiv", "srem"][op as usize - 9];
                self.def(&format!("{name} i32 {a}, {d}"))
            }
            13 => {
                let c = self.condition(vars);
                self.def(&format!("select i1 {c}, i32 {a}, i32 {b}"))
            }
            14 => {
                let x = self.def(&format!("sext i32 {a} to i64"));
                let y = self.def(&format!("zext i32 {b} to i64"));
                let name = ["add", "mul", "sub", "xor"][self.c.below(4) as usize];
                let z = self.def(&format!("{name} i64 {x}, {y}"));
                let by = self.c.below(40);
                let z = self.def(&format!("lshr i64 {z}, {by}"));
                self.def(&format!("trunc i64 {z} to i32"))
            }
            15 => {
                let w = [8, 16, 12][self.c.below(3) as usize];
                let x = self.def(&format!("trunc i32 {a} to i{w}"));
                let y = self.def(&format!("trunc i32 {b} to i{w}"));
                let name = ["add", "mul", "sub", "ashr", "lshr"][self.c.below(5) as usize];
                let y = if name.ends_with("shr") { "3".to_owned() } else { y };
                let z = self.def(&format!("{name} i{w} {x}, {y}"));
                let ext = if self.c.below(2) == 0 { "sext" } else { "zext" };
                self.def(&format!("{ext} i{w} {z} to i32"))
            }
            16 => {
                let v = self.def(&format!("insertelement <4 x i32> zeroinitializer, i32 {a}, i64 1"));
                let v = self.def(&format!("insertelement <4 x i32> {v}, i32 {b}, i64 3"));
                let v = self.def(&format!(
                    "shufflevector <4 x i32> {v}, <4 x i32> {v}, <4 x i32> <i32 3, i32 1, i32 5, i32 0>"
                ));
                let v = self.def(&format!("add <4 x i32> {v}, splat (i32 5)"));
                let i = self.c.below(4);
                self.def(&format!("extractelement <4 x i32> {v}, i64 {i}"))
            }
            17 => self.def(&format!("call i32 @llvm.ctpop.i32(i32 {a})")),
            18 => self.def(&format!("call i32 @llvm.smax.i32(i32 {a}, i32 {b})")),
            19 => {
                let by = self.c.below(32);
                self.def(&format!("call i32 @llvm.fshl.i32(i32 {a}, i32 {b}, i32 {by})"))
            }
            20 => self.def(&format!("call i32 @mix(i32 {a}, i32 {b})")),
            _ => {
                let f = self.float(vars);
                let m = self.def(&format!("call float @llvm.minnum.f32(float {f}, float 1.0e6)"));
                let m = self.def(&format!("call float @llvm.maxnum.f32(float {m}, float -1.0e6)"));
                self.def(&format!("fptosi float {m} to i32"))
            }
        };
        let k = self.c.below(INTS as u32) as usize;
        vars[k] = r;
    }

    fn assign_float(&mut self, vars: &mut Vars) {
        let (a, b, d) = (self.float(vars), self.float(vars), self.float(vars));
        let r = match self.c.below(12) {
            0 => self.def(&format!("fadd float {a}, {b}")),
            1 => self.def(&format!("fsub float {a}, {b}")),
            2 => self.def(&format!("fmul float {a}, {b}")),
            3 => self.def(&format!("fdiv float {a}, {b}")),
            4 => self.def(&format!("fneg float {a}")),
            5 => self.def(&format!("call float @llvm.fabs.f32(float {a})")),
            6 => self.def(&format!("call float @llvm.fma.f32(float {a}, float {b}, float {d})")),
            7 => self.def(&format!("call float @llvm.maxnum.f32(float {a}, float {b})")),
            8 => self.def(&format!("call float @llvm.floor.f32(float {a})")),
            9 => {
                let x = self.def(&format!("fptrunc float {a} to half"));
                let y = self.def(&format!("fptrunc float {b} to half"));
                let z = self.def(&format!("fmul half {x}, {y}"));
                let z = self.def(&format!("fadd half {z}, {x}"));
                self.def(&format!("fpext half {z} to float"))
            }
            10 => {
                let i = self.int(vars);
                self.def(&format!("sitofp i32 {i} to float"))
            }
            _ => {
                let c = self.condition(vars);
                self.def(&format!("select i1 {c}, float {a}, float {b}"))
            }
        };
        let k = INTS + self.c.below(FLOATS as u32) as usize;
        vars[k] = r;
    }

    fn condition(&mut self, vars: &Vars) -> String {
        match self.c.below(5) {
            0 => {
                let (a, b) = (self.float(vars), self.float(vars));
                let p = ["olt", "oge", "une", "ueq", "ord", "ugt"][self.c.below(6) as usize];
                self.def(&format!("fcmp {p} float {a}, {b}"))
            }
            1 => {
                let (a, b) = (self.simple(vars), self.simple(vars));
                let op = ["and", "or", "xor"][self.c.below(3) as usize];
                self.def(&format!("{op} i1 {a}, {b}"))
            }
            _ => self.simple(vars),
        }
    }

    fn simple(&mut self, vars: &Vars) -> String {
        let (a, b) = (self.int(vars), self.int(vars));
        let p = ["slt", "ult", "eq", "ne", "sge", "ugt"][self.c.below(6) as usize];
        self.def(&format!("icmp {p} i32 {a}, {b}"))
    }

    /// A read of the table, or a write and read of the private array.
    fn memory(&mut self, vars: &mut Vars) {
        let i = self.int(vars);
        let k = self.c.below(INTS as u32) as usize;
        if self.c.below(2) == 0 {
            let m = self.def(&format!("and i32 {i}, {}", TABLE - 1));
            let w = self.def(&format!("zext i32 {m} to i64"));
            let p = self.def(&format!("getelementptr inbounds i32, ptr addrspace(1) %table, i64 {w}"));
            vars[k] = self.def(&format!("load i32, ptr addrspace(1) {p}, align 4"));
            return;
        }
        let j = self.int(vars);
        let (a, b) = (self.def(&format!("and i32 {i}, 7")), self.def(&format!("and i32 {j}, 7")));
        let p = self.def(&format!("getelementptr inbounds [8 x i32], ptr %scratch, i64 0, i32 {a}"));
        let v = self.int(vars);
        self.emit(&format!("store i32 {v}, ptr {p}, align 4"));
        let p = self.def(&format!("getelementptr inbounds [8 x i32], ptr %scratch, i64 0, i32 {b}"));
        vars[k] = self.def(&format!("load i32, ptr {p}, align 4"));
    }

    fn branch(&mut self, vars: &mut Vars, depth: u32) {
        let c = self.condition(vars);
        let n = self.fresh();
        let (t, e, j) = (format!("t{n}"), format!("e{n}"), format!("j{n}"));
        self.emit(&format!("br i1 {c}, label %{t}, label %{e}"));
        let mut edges = Vec::new();
        for side in [&t, &e] {
            self.start(side);
            let mut v = vars.clone();
            let empty = side == &e && self.c.below(3) == 0;
            if empty || self.list(&mut v, depth + 1, false) {
                edges.push((self.block.clone(), v));
                self.emit(&format!("br label %{j}"));
            }
        }
        if edges.is_empty() {
            // Both sides left: go on from a block that is never reached but must exist.
            let (dead, v) = (format!("d{n}"), vars.clone());
            self.start(&dead);
            self.emit(&format!("br label %{j}"));
            edges.push((dead, v));
        }
        *vars = self.join(&j, &edges);
    }

    /// A loop of at most a few iterations, fewer where a condition says so.
    fn repeat(&mut self, vars: &mut Vars, depth: u32) {
        let n = self.fresh();
        let (head, body, latch, exit) = (format!("h{n}"), format!("b{n}"), format!("l{n}"), format!("x{n}"));
        let most = 1 + self.c.below(6);
        let bound = match self.c.below(3) {
            0 => most.to_string(),
            _ => {
                let i = self.int(vars);
                self.def(&format!("call i32 @llvm.umin.i32(i32 {i}, i32 {most})"))
            }
        };
        let before = (self.block.clone(), vars.clone());
        self.emit(&format!("br label %{head}"));
        // Phis of the head name values of the latch, which come later in the text: give them names now.
        self.start(&head);
        let names: Vec<(String, String)> = (0..WORDS).map(|k| (format!("%p{n}_{k}"), format!("%q{n}_{k}"))).collect();
        self.emit(&format!("%i{n} = phi i32 [ 0, %{} ], [ %n{n}, %{latch} ]", before.0));
        for (k, (p, q)) in names.iter().enumerate() {
            let ty = if k < INTS { "i32" } else { "float" };
            self.emit(&format!("{p} = phi {ty} [ {}, %{} ], [ {q}, %{latch} ]", before.1[k], before.0));
        }
        let mut v: Vars = names.iter().map(|x| x.0.clone()).collect();
        let c = self.def(&format!("icmp ult i32 %i{n}, {bound}"));
        self.emit(&format!("br i1 {c}, label %{body}, label %{exit}"));
        let head_edge = (head.clone(), v.clone());
        self.loops.push(LoopEdges {
            exit: exit.clone(),
            latch: latch.clone(),
            breaks: Vec::new(),
            continues: Vec::new(),
        });
        self.start(&body);
        let alive = self.list(&mut v, depth + 1, false);
        let Some(mut edges) = self.loops.pop() else { return };
        if alive {
            edges.continues.push((self.block.clone(), v));
            self.emit(&format!("br label %{latch}"));
        }
        if edges.continues.is_empty() {
            let dead = format!("d{n}");
            self.start(&dead);
            self.emit(&format!("br label %{latch}"));
            edges.continues.push((dead, head_edge.1.clone()));
        }
        self.start(&latch);
        for (k, (_, q)) in names.iter().enumerate() {
            let ty = if k < INTS { "i32" } else { "float" };
            let list: Vec<String> = edges.continues.iter().map(|(b, v)| format!("[ {}, %{b} ]", v[k])).collect();
            self.emit(&format!("{q} = phi {ty} {}", list.join(", ")));
        }
        self.emit(&format!("%n{n} = add i32 %i{n}, 1"));
        self.emit(&format!("br label %{head}"));
        edges.breaks.push(head_edge);
        *vars = self.join(&exit, &edges.breaks);
    }

    /// `break` or `continue`.
    fn leave(&mut self, vars: &Vars) -> bool {
        let at = (self.block.clone(), vars.clone());
        let go = self.c.below(2) == 0;
        let Some(l) = self.loops.last_mut() else { return true };
        let to = if go {
            l.breaks.push(at);
            l.exit.clone()
        } else {
            l.continues.push(at);
            l.latch.clone()
        };
        self.emit(&format!("br label %{to}"));
        false
    }

    fn collective(&mut self, vars: &mut Vars) {
        let v = self.int(vars);
        let k = self.c.below(INTS as u32) as usize;
        vars[k] = match self.c.below(5) {
            0 => {
                let with = self.c.below(32);
                self.def(&format!("call i32 @__ks_shuffle_xor_i32(i32 {v}, i32 {with})"))
            }
            1 => self.def(&format!("call i32 @__ks_simd_sum_i32(i32 {v})")),
            2 => self.def(&format!("call i32 @__ks_simd_max_u32(i32 {v})")),
            3 => {
                let c = self.simple(vars);
                let z = self.def(&format!("zext i1 {c} to i32"));
                let b = self.def(&format!("call i64 @__ks_ballot(i32 {z})"));
                self.def(&format!("trunc i64 {b} to i32"))
            }
            _ => {
                let w = self.def("zext i32 %tid to i64");
                let p = self.def(&format!("getelementptr inbounds i32, ptr addrspace(3) @tile, i64 {w}"));
                self.emit(&format!("store i32 {v}, ptr addrspace(3) {p}, align 4"));
                self.emit("call void @__ks_threadgroup_barrier(i32 2)");
                let with = self.c.below(64);
                let o = self.def(&format!("xor i32 %tid, {with}"));
                let w = self.def(&format!("zext i32 {o} to i64"));
                let p = self.def(&format!("getelementptr inbounds i32, ptr addrspace(3) @tile, i64 {w}"));
                let r = self.def(&format!("load i32, ptr addrspace(3) {p}, align 4"));
                self.emit("call void @__ks_threadgroup_barrier(i32 2)");
                r
            }
        };
    }
}
