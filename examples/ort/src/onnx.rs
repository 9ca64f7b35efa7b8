//! Writes models of one node as ONNX files have them: messages of protobuf, whose fields have the numbers of `onnx.proto`.

/// The domain of ONNX's own operators.
pub const ONNX: &str = "";

/// An element type, by its number.
#[derive(Clone, Copy)]
pub enum Elements {
    F32 = 1,
    F16 = 10,
    F64 = 11,
}

/// A model whose only node is an operator of a domain, from `x` and constants to `y`.
pub struct Model<'a> {
    pub operator: &'a str,
    pub domain: &'a str,
    /// Name and value of each.
    pub floats: &'a [(&'a str, f32)],
    pub integers: &'a [(&'a str, u64)],
    /// Name, extents and elements of each.
    pub constants: &'a [(&'a str, &'a [usize], &'a [f32])],
    /// Of `x` and `y`, whose extents are any.
    pub elements: Elements,
    pub rank: usize,
}

impl Model<'_> {
    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut node = Message::default().text(1, "x");
        for (name, ..) in self.constants {
            node = node.text(1, name);
        }
        node = node.text(2, "y").text(3, "node").text(4, self.operator);
        for (name, value) in self.floats {
            node = node.message(5, Message::default().text(1, name).float(2, *value).integer(20, 1));
        }
        for (name, value) in self.integers {
            node = node.message(5, Message::default().text(1, name).integer(3, *value).integer(20, 2));
        }
        let mut graph = Message::default().message(1, node.text(7, self.domain)).text(2, "graph");
        for (name, extents, elements) in self.constants {
            let mut tensor = Message::default();
            for extent in *extents {
                tensor = tensor.integer(1, *extent as u64);
            }
            let data: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
            graph = graph.message(5, tensor.integer(2, Elements::F32 as u64).text(8, name).bytes(9, &data));
        }
        graph = graph.message(11, self.tensor("x")).message(12, self.tensor("y"));
        let opset = |domain: &str, version: u64| Message::default().text(1, domain).integer(2, version);
        let model = Message::default().integer(1, 10).message(7, graph);
        model.message(8, opset(ONNX, 21)).message(8, opset("dietcode", 1)).0
    }

    fn tensor(&self, name: &str) -> Message {
        let shape = (0..self.rank).fold(Message::default(), |shape, _| shape.message(1, Message::default()));
        let tensor = Message::default().integer(1, self.elements as u64).message(2, shape);
        Message::default().text(1, name).message(2, Message::default().message(1, tensor))
    }
}

/// A message of protobuf, field after field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn integer(mut self, field: u64, value: u64) -> Message {
        self.number(field << 3);
        self.number(value);
        self
    }

    fn float(mut self, field: u64, value: f32) -> Message {
        self.number(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Message {
        self.number(field << 3 | 2);
        self.number(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: Message) -> Message {
        self.bytes(field, &value.0)
    }

    /// Seven bits a byte, the least first; the eighth says that there are more.
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
