// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a Network. Where its tensors lie is not the executor's business: it takes one address for
// each tensor of the graph, be it from a planned arena or from buffers of their own.
//
//   std::vector<float> weights = make_weights(network);
//   const Addresses addresses = addresses_in(arena, plan, network, &weights);
//   write_image(network, addresses, 1);
//   run(network, addresses);
//   output_hash(network, addresses);

#include <cstdint>
#include <vector>

#include "common/network.h"
#include "tenure/arena.h"
#include "tenure/plan.h"

namespace example {

using Addresses = std::vector<float*>;  // by tensor

// The values of all constants, one behind the other in the order of the tensors.
[[nodiscard]] std::vector<float> make_weights(const Network& network);

// Constants lie in `weights`, everything else where the plan says. All three must outlive the
// addresses.
[[nodiscard]] Addresses addresses_in(const tenure::SimpleMemoryArena& arena,
                                     const tenure::MemoryPlan& plan, const Network& network,
                                     std::vector<float>* weights);

// Constants lie in `weights`, everything else in a buffer of its own.
class SeparateBuffers {
 public:
  SeparateBuffers(const Network& network, std::vector<float>* weights);
  SeparateBuffers(const SeparateBuffers&) = delete;
  SeparateBuffers& operator=(const SeparateBuffers&) = delete;
  [[nodiscard]] const Addresses& addresses() const { return addresses_; }

 private:
  std::vector<std::vector<float>> buffers_;  // by tensor
  Addresses addresses_;
};

// The next three do not allocate.
void write_image(const Network& network, const Addresses& addresses, std::uint64_t seed) noexcept;
void run(const Network& network, const Addresses& addresses) noexcept;
// FNV-1a of the bits of the output: equal for equal bits, on every machine.
[[nodiscard]] std::uint64_t output_hash(const Network& network,
                                        const Addresses& addresses) noexcept;

}  // namespace example
