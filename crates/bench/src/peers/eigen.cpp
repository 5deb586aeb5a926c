// Products and transposes of sparse matrices with Eigen. Arguments: what is computed, and for each matrix its rows, its
// columns, 1 if it stands in columns, and files of values, coordinates and positions. Then each line is a request.
#include <Eigen/Sparse>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using Columns = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;

template <typename T> static std::vector<T> numbers(const char *path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<T> all(static_cast<size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(all.data()), all.size() * sizeof(T));
  return all;
}

template <typename M> static M matrix(char **of) {
  std::vector<double> values = numbers<double>(of[3]);
  std::vector<int64_t> at = numbers<int64_t>(of[4]), starts = numbers<int64_t>(of[5]);
  std::vector<int> inner(at.begin(), at.end()), outer(starts.begin(), starts.end());
  return Eigen::Map<const M>(std::stoi(of[0]), std::stoi(of[1]), values.size(), outer.data(), inner.data(),
                             values.data());
}

template <typename T, typename N> static void write(const std::string &path, const N *from, size_t count) {
  std::vector<T> all(from, from + count);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(all.data()), count * sizeof(T));
}

template <typename M> static Rows computed(bool transpose, const std::vector<M> &of) {
  Rows result = transpose ? Rows(of[0].transpose()) : Rows(of[0] * of[1]);
  result.makeCompressed();
  return result;
}

int main(int count, char **arguments) {
  bool transpose = std::string(arguments[1]) == "sparse_transpose";
  std::vector<Rows> rows;
  std::vector<Columns> columns;
  for (int at = 2; at + 5 < count; at += 6) {
    if (std::string(arguments[at + 2]) == "1") columns.push_back(matrix<Columns>(arguments + at));
    else rows.push_back(matrix<Rows>(arguments + at));
  }
  std::printf("{\"version\": \"%d.%d.%d\"}\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  std::fflush(stdout);
  std::unique_ptr<Rows> last;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find("\"run\"") != std::string::npos) {
      last.reset();
      auto start = std::chrono::steady_clock::now();
      last.reset(new Rows(columns.empty() ? computed(transpose, rows) : computed(transpose, columns)));
      auto taken = std::chrono::steady_clock::now() - start;
      long long ns = std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
      std::printf("{\"ns\": %lld}\n", ns);
    } else if (line.find("\"write\"") != std::string::npos && last) {
      std::vector<std::string> files;
      for (size_t at = line.find('['); (at = line.find('"', at)) != std::string::npos;) {
        size_t end = line.find('"', at + 1);
        files.push_back(line.substr(at + 1, end - at - 1));
        at = end + 1;
      }
      write<int64_t>(files[0], last->outerIndexPtr(), last->rows() + 1);
      write<int64_t>(files[1], last->innerIndexPtr(), last->nonZeros());
      write<double>(files[2], last->valuePtr(), last->nonZeros());
      std::printf("{}\n");
    } else {
      last.reset();
      std::printf("{}\n");
    }
    std::fflush(stdout);
  }
}
