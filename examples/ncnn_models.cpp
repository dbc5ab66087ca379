// SPDX-License-Identifier: Apache-2.0

// Real networks of ncnn's, run by its Extractor from a place in a ModelPool: weights that are read
// in place and what ncnn packs while loading are the load phase's, blobs and workspaces the run
// phase's, which ends after each inference. The outputs must be those of ncnn's own allocators, bit
// for bit; and an allocator that gives every request the same memory must change them, or the
// comparison would prove nothing. `one phase` is what a pool does that is reset after each
// inference and was there while the network was loaded: it loses what ncnn packed.
//
//   ncnn_models FOLDER      with ncnn's benchmark/models/*.param
//
// Weights are seeded random numbers, the same on every machine. Built where find_package(ncnn)
// succeeds.

#include <allocator.h>
#include <datareader.h>
#include <net.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tenure/bridge/ncnn.h"
#include "tenure/model_area.h"
#include "tenure/model_pool.h"
#include "tenure/pool_allocator.h"

namespace {

using Bridge = tenure::bridge::RuntimeAllocator<ncnn::Allocator>;

constexpr int kThreads = 2;
constexpr int kRuns = 3;
constexpr std::size_t kTailBytes = 64;  // that ncnn's kernels read behind a block
constexpr std::size_t kRoomBytes = std::size_t{512} << 20;

struct Network {
  const char* name;
  int side;  // of the square image
};
constexpr Network kNetworks[] = {
    {"squeezenet", 227}, {"mobilenet", 224},     {"mobilenet_v2", 224},    {"mobilenet_v3", 224},
    {"mnasnet", 224},    {"shufflenet_v2", 224}, {"efficientnet_b0", 224}, {"googlenet", 224},
    {"resnet18", 224},   {"blazeface", 128},     {"FastestDet", 352}};

class Random {
 public:
  // From -1 to 1.
  float next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 32)) / 2147483648.0F;
  }

 private:
  std::uint64_t state_ = 1;
};

// Makes weights up as a network asks for them, and keeps them as the file that they would be in.
// The larger the tensor the smaller its numbers, so that activations neither vanish nor overflow.
class SeededWeights : public ncnn::DataReader {
 public:
  std::size_t read(void* buffer, std::size_t size_bytes) const override {
    const std::size_t count = size_bytes / sizeof(float);
    std::vector<float> values(count);
    const float scale = 1.5F / std::pow(static_cast<float>(count), 0.25F);
    // Four bytes say how the weights behind them are stored: as floats.
    if (count > 1) {
      for (float& value : values) value = scale * random_.next();
    }
    std::memcpy(buffer, values.data(), size_bytes);
    const auto* bytes = static_cast<const unsigned char*>(buffer);
    file_.insert(file_.end(), bytes, bytes + size_bytes);
    return size_bytes;
  }
  [[nodiscard]] const std::vector<unsigned char>& file() const { return file_; }

 private:
  mutable Random random_;
  mutable std::vector<unsigned char> file_;
};

// What must not be: every request gets the same memory. Frees do nothing, so that the counts that
// ncnn keeps in a block may be anything.
class Overlapping : public ncnn::Allocator {
 public:
  Overlapping() : memory_(kRoomBytes / 8) {}
  void* fastMalloc(std::size_t size_bytes) override {
    if (size_bytes + kTailBytes > memory_.size()) return nullptr;
    return memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
  }
  void fastFree(void* /*memory*/) override {}

 private:
  std::vector<unsigned char> memory_;
};

struct Output {
  std::uint64_t hash = 0;
  double variance = 0.0;
};

class Digest {
 public:
  void add(const ncnn::Mat& mat) {
    for (int c = 0; c < mat.c; ++c) {
      const float* values = mat.channel(c);
      for (int i = 0; i < mat.w * mat.h; ++i) add(values[i]);
    }
  }
  [[nodiscard]] Output output() const {
    const double mean = sum_ / static_cast<double>(count_);
    return {hash_, squares_ / static_cast<double>(count_) - mean * mean};
  }

 private:
  void add(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash_ = (hash_ ^ bits) * 1099511628211U;
    sum_ += value;
    squares_ += double{value} * value;
    ++count_;
  }

  std::uint64_t hash_ = 14695981039346656037U;
  double sum_ = 0.0;
  double squares_ = 0.0;
  std::size_t count_ = 0;
};

ncnn::Option options() {
  ncnn::Option option;
  option.num_threads = kThreads;
  return option;
}

// Null: ncnn's own allocators. Everything that the run took has been given back when this returns.
bool infer(const ncnn::Net& net, const Network& network, ncnn::Allocator* allocator,
           Output* output) {
  Random random;
  ncnn::Mat image(network.side, network.side, 3);
  for (int c = 0; c < image.c; ++c) {
    float* values = image.channel(c);
    for (int i = 0; i < network.side * network.side; ++i) values[i] = random.next();
  }
  ncnn::Extractor extractor = net.create_extractor();
  if (allocator != nullptr) {
    extractor.set_blob_allocator(allocator);
    extractor.set_workspace_allocator(allocator);
  }
  extractor.input(net.input_names()[0], image);
  Digest digest;
  for (const char* name : net.output_names()) {
    ncnn::Mat mat;
    if (extractor.extract(name, mat) != 0) return false;
    digest.add(mat);
  }
  *output = digest.output();
  return true;
}

bool same(const Output& a, const Output& b) { return a.hash == b.hash; }

// Loads from a place in the pool and runs; `needs` becomes what it really took.
bool run_in_pool(const Network& network, const std::string& param,
                 const std::vector<unsigned char>& file, tenure::ModelNeeds* needs,
                 const Output& expected) {
  const auto pool_options =
      tenure::ModelPoolOptions().set_tail_bytes(kTailBytes).set_upstream(tenure::page_upstream());
  const auto size_bytes = tenure::bytes_by_sum({needs, 1}, pool_options);
  tenure::ModelPool pool(pool_options);
  if (!size_bytes.ok() || !pool.reserve(*size_bytes).ok()) return false;
  tenure::ModelArea area(pool, network.name);
  if (!area.enter(*needs).ok()) return false;
  bool is_equal = true;
  {
    Bridge bridge(area);
    ncnn::Net net;
    net.opt = options();
    net.opt.blob_allocator = &bridge;  // depthwise weights are packed into it, for good
    void* weights = area.fastMalloc(file.size());
    if (weights == nullptr || net.load_param(param.c_str()) != 0) return false;
    std::memcpy(weights, file.data(), file.size());
    const auto* next = static_cast<const unsigned char*>(weights);
    if (net.load_model(ncnn::DataReaderFromMemory(next)) != 0) return false;
    for (int i = 0; i < kRuns && is_equal; ++i) {
      Output output;
      is_equal = area.begin_run().ok() && infer(net, network, &bridge, &output) &&
                 area.end_run().ok() && same(output, expected);
    }
    net.clear();
    area.fastFree(weights);
  }
  *needs = area.recorded_needs();
  return is_equal && area.statistics().refusals == 0 && area.leave().ok();
}

// The trap: a pool that the Net has while it loads, and that a reset empties after each inference.
// True when that changes the outputs, because packed weights were written over.
bool loses_weights(const Network& network, const std::string& param,
                   const std::vector<unsigned char>& file, const Output& expected) {
  tenure::PoolAllocator pool(
      tenure::PoolOptions().set_tail_bytes(kTailBytes).set_upstream(tenure::page_upstream()));
  if (!pool.reserve(kRoomBytes).ok()) return false;
  Bridge bridge(pool);
  ncnn::Net net;
  net.opt = options();
  net.opt.blob_allocator = &bridge;
  const unsigned char* next = file.data();
  if (net.load_param(param.c_str()) != 0) return false;
  if (net.load_model(ncnn::DataReaderFromMemory(next)) != 0) return false;
  Output output;
  for (int i = 0; i < kRuns; ++i) {
    pool.force_reset(tenure::LateFrees::kNeverCome);
    if (!infer(net, network, &bridge, &output)) return true;
  }
  return !same(output, expected);
}

bool run(const Network& network, const std::string& folder) {
  const std::string param = folder + "/" + network.name + ".param";
  SeededWeights weights;
  ncnn::Net net;
  net.opt = options();
  if (net.load_param(param.c_str()) != 0 || net.load_model(weights) != 0) {
    std::fprintf(stderr, "%s cannot be loaded\n", param.c_str());
    return false;
  }
  Output expected;
  Output again;
  Output overlapped;
  Overlapping overlapping;
  const bool ran = infer(net, network, nullptr, &expected) && infer(net, network, nullptr, &again);
  const bool overlap_ran = infer(net, network, &overlapping, &overlapped);
  tenure::ModelNeeds needs;
  needs.load_bytes = kRoomBytes;
  needs.run_bytes = kRoomBytes;
  const bool pooled = ran && run_in_pool(network, param, weights.file(), &needs, expected) &&
                      run_in_pool(network, param, weights.file(), &needs, expected);
  const bool is_telling = ran && same(expected, again) && std::isfinite(expected.variance) &&
                          expected.variance > 0.0 && !(overlap_ran && same(overlapped, expected));
  const bool trapped = ran && loses_weights(network, param, weights.file(), expected);
  std::printf("%-16s %016llx %12.5g   %-9s %-9s %-9s %8.1f %8.1f\n", network.name,
              static_cast<unsigned long long>(expected.hash), expected.variance,
              pooled ? "the same" : "DIFFERENT", trapped ? "changed" : "the same",
              is_telling ? "changed" : "THE SAME", static_cast<double>(needs.load_bytes) / 1e6,
              static_cast<double>(needs.run_bytes) / 1e6);
  return pooled && is_telling;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ncnn_models FOLDER   (ncnn's benchmark/models)\n");
    return 2;
  }
  std::printf("%-16s %-16s %12s   %-9s %-9s %-9s %8s %8s\n", "network", "output hash", "variance",
              "pool", "one phase", "overlap", "load MB", "run MB");
  bool is_good = true;
  for (const Network& network : kNetworks) is_good = run(network, argv[1]) && is_good;
  return is_good ? 0 : 1;
}
