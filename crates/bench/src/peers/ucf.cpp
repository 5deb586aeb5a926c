// Prints the kernel that TACO-UCF makes of a product: the names of its loops, then result and factors as NAME FORMAT EXTENTS SUBSCRIPTS, such as
//   "h w r q" "O" "dd" "8 8" "h w" "I" "ds" "10 10" "1*h+1*r 1*w+1*q" ..
#include <iostream>
#include <map>
#include <sstream>
#include "taco.h"
#include "taco/index_notation/transformations.h"
#include "taco/lower/lower.h"
#include "codegen/codegen.h"

using namespace taco;
using Subscript = std::shared_ptr<IndexVarInterface>;

static std::map<std::string, IndexVar> variables;

static IndexVar variable(const std::string& name) {
  return variables.emplace(name, IndexVar(name)).first->second;
}

static std::vector<std::string> words(const std::string& text, char between) {
  std::vector<std::string> all;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, between);) all.push_back(word);
  return all;
}

// `h`, or `2*h+1*r`.
static Subscript subscript(const std::string& text) {
  auto terms = words(text, '+');
  if (terms.size() == 1) return std::make_shared<IndexVar>(variable(text));
  auto factor = words(terms[0], '*'), rest = words(terms[1], '*');
  WindowedIndexVar sum = variable(factor[1]) * std::stoi(factor[0]) + variable(rest[1]);
  return std::make_shared<WindowedIndexVar>(sum);
}

struct Read {
  TensorBase tensor;
  std::vector<Subscript> subscripts;
};

static Read read(char** texts) {
  std::vector<int> extents;
  std::vector<ModeFormatPack> levels;
  std::vector<Subscript> subscripts;
  for (auto& word : words(texts[2], ' ')) extents.push_back(std::stoi(word));
  for (char level : std::string(texts[1])) levels.push_back(level == 's' ? Sparse : Dense);
  for (auto& word : words(texts[3], ' ')) subscripts.push_back(subscript(word));
  return { TensorBase(texts[0], type<double>(), extents, Format(levels)), subscripts };
}

int main(int count, char** texts) {
  Read result = read(texts + 2);
  IndexExpr product;
  for (int at = 6; at + 3 < count; at += 4) {
    Read factor = read(texts + at);
    IndexExpr value = factor.tensor(factor.subscripts);
    product = product.defined() ? product * value : value;
  }
  result.tensor(result.subscripts) = product;
  std::vector<IndexVar> loops;
  for (auto& name : words(texts[1], ' ')) loops.push_back(variable(name));
  IndexStmt statement = result.tensor.getAssignment().concretize().reorder(loops);
  auto printer = ir::CodeGen::init_default(std::cout, ir::CodeGen::ImplementationGen);
  printer->compile(lower(statement, "assemble", true, false), true);
  printer->compile(lower(statement, "compute", false, true), false);
}
