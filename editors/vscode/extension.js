// Starts `dastac lsp` for STUR files.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("dastac").get("path", "dastac");
  const server = { command, args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("dastac", "dastac", server, {
    documentSelector: [{ language: "stur", pattern: "**/*.stur" }, { language: "stur", scheme: "untitled" }],
  });
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
