//! `dastac lsp`, driven over a pipe as an editor does it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

const URI: &str = "file:///p.stur";

/// An editor with one document.
struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: i32,
    version: i32,
}

impl Editor {
    fn start() -> Editor {
        let mut server = crate::dastac()
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut editor = Editor { server, to, from, asked: 0, version: 0 };
        editor.ask("initialize", json!({ "capabilities": {} }));
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server is gone");
            match line.trim().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.from.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The result of a request; what the server says in between is passed over.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{message}");
                return message["result"].clone();
            }
        }
    }

    /// Gives the document another text.
    fn write(&mut self, text: &str) {
        self.version += 1;
        let version = self.version;
        if version == 1 {
            let document = json!({ "uri": URI, "languageId": "stur", "version": 1, "text": text });
            self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        } else {
            let document = json!({ "uri": URI, "version": version });
            let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
            self.tell("textDocument/didChange", params);
        }
    }

    /// Waits until the diagnostics of this text have those codes.
    fn diagnostics(&mut self, codes: &[&str]) -> Vec<Value> {
        loop {
            let message = self.receive();
            let params = &message["params"];
            if params["version"] == self.version {
                let found = params["diagnostics"].as_array().unwrap().clone();
                if found
                    .iter()
                    .map(|one| one["code"].as_str().unwrap_or("none"))
                    .eq(codes.iter().copied())
                {
                    return found;
                }
            }
        }
    }

    /// Asks about the place of a text, so many characters behind its beginning.
    fn ask_at(&mut self, method: &str, line: usize, character: usize) -> Value {
        let place = json!({ "line": line, "character": character });
        self.ask(method, json!({ "textDocument": { "uri": URI }, "position": place }))
    }

    fn hover(&mut self, line: usize, character: usize) -> String {
        let found = self.ask_at("textDocument/hover", line, character);
        found["contents"]["value"].as_str().unwrap_or("nothing").to_owned()
    }

    fn labels(&mut self, line: usize, character: usize) -> Vec<String> {
        let found = self.ask_at("textDocument/completion", line, character);
        let all = found.as_array().unwrap().iter();
        all.map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

/// `line:column`, as editors count them.
fn place(position: &Value) -> String {
    format!("{}:{}", position["line"], position["character"])
}

#[test]
fn a_dialogue() {
    let mut editor = Editor::start();
    editor.write("symbols: N\ny(i) := B(i, j) * x(j)\nB:D(i, j) := (0 <= i < N) * (0 <= j < M)\n");
    let found = editor.diagnostics(&["E0303", "E0108"]);
    let ranges = found.iter().map(|one| {
        let range = &one["range"];
        format!("{} {}-{}", one["code"], place(&range["start"]), place(&range["end"]))
    });
    expect![[r#"
        "E0303" 1:18-1:22
        "E0108" 2:38-2:39"#]]
    .assert_eq(&ranges.collect::<Vec<_>>().join("\n"));

    let program = "symbols: N\ntypes: x = f32\n\
        y(i) := B(i, j) * x(j)          # E0108\n\
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
        B:U(i, j) := (i <= j)\n\
        x:D(j) := (0 <= j < N)\n\
        x:F := compressed(j)\n\
        m(i) := max(j) B(i, j)\n";
    editor.write(program);
    editor.diagnostics(&[]);
    // Layouts come last.
    let mut tensor = editor.hover(2, 8);
    for _ in 0..500 {
        if tensor.contains("position") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        tensor = editor.hover(2, 8);
    }
    let mut dialogue = format!("{tensor}\n");
    for (line, character) in
        [(0, 1), (0, 9), (1, 12), (2, 2), (2, 11), (2, 36), (4, 2), (6, 9), (7, 9)]
    {
        dialogue += &format!("--- {line}:{character}\n{}\n", editor.hover(line, character));
    }
    expect![[r#"
        ```stur
        # B: input, N x N
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i <= j)
        ```

        ```text
        B(i, j): input, packed with i, j slowest to fastest
          position  N*i - 1/2*i^2 - 1/2*i + j
          elements  1/2*N^2 + 1/2*N
          one place for each element, without gaps: proven for all sizes
        ```
        --- 0:1
        `symbols`: integer parameters, not negative, given when the kernel runs
        --- 0:9
        `N`: a symbol, an integer that is given when the kernel runs
        --- 1:12
        `f32`: 32-bit floats (IEEE binary32)
        --- 2:2
        `i`: an iterator of the head
        --- 2:11
        `i`: an iterator of the head
        --- 2:36
        **E0108**: an unknown name: neither a symbol nor an iterator with bounds
        --- 4:2
        `U`: unique set: the elements with values of their own
        --- 6:9
        `compressed`: those that are there, below each position of the level before
        --- 7:9
        `max`: the largest value over these iterators
    "#]]
    .assert_eq(&dialogue);

    let declared = |editor: &mut Editor, line, character| {
        place(&editor.ask_at("textDocument/definition", line, character)["range"]["start"])
    };
    assert_eq!(declared(&mut editor, 2, 8), "3:0", "B");
    assert_eq!(declared(&mut editor, 3, 23), "0:9", "N");
    assert_eq!(declared(&mut editor, 2, 10), "2:2", "i");
    assert_eq!(declared(&mut editor, 2, 20), "2:13", "j");

    let symbols =
        editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names =
        symbols.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["N", "y(i)", "B:D", "B:U", "x:D", "x:F", "m(i)"]);

    assert_eq!(
        editor.labels(7, 8),
        ["pos", "min", "max", "max_times", "prod", "or", "B", "m", "x", "y", "N", "i", "j"]
    );
    assert_eq!(editor.labels(4, 2), ["D", "U", "R", "F"]);
    assert!(editor.labels(8, 0).starts_with(&["symbols:".into(), "outputs:".into()]));
    assert!(editor.labels(1, 11).contains(&"bf16".to_string()));
    assert!(editor.labels(6, 7).contains(&"csr".to_string()));
    editor.end();
}

/// Columns are UTF-16 units: an emoji is two, an umlaut is one.
#[test]
fn columns() {
    let mut editor = Editor::start();
    editor.write("# \u{1f600} \u{e4}\nsymbols: N \u{1f600}\u{e4} M\n");
    let found = editor.diagnostics(&["E0001"]);
    assert_eq!(place(&found[0]["range"]["start"]), "1:11");
    assert_eq!(place(&found[0]["range"]["end"]), "1:14");
    editor.end();
}

/// No text brings the server down, and a later one is answered as if there had been none before.
#[test]
fn any_text() {
    let mut editor = Editor::start();
    let deep = "(".repeat(100_000);
    let texts =
        ["", "\u{feff}", "\0", ":", "@", ":=", "a:", "# \u{1f600}", "A(\r\n", "y(i) := ", &deep];
    for text in texts {
        editor.write(text);
        for (line, character) in
            [(0, 0), (0, 1), (0, 3), (1, 0), (7, 7), (u32::MAX as usize, u32::MAX as usize)]
        {
            for method in ["hover", "definition", "completion"] {
                editor.ask_at(&format!("textDocument/{method}"), line, character);
            }
        }
        editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    }
    editor.write("symbols: N\ny(i) := x(i)\nx:D(i) := (-1 <= i < N)\n");
    editor.diagnostics(&["E0305"]);
    editor.end();
}
