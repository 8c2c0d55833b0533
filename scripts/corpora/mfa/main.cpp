// Writes the kernels that metal-flash-attention's generator makes for one head size: main HEAD FOLDER. Knows the
// generator's descriptors; must not know what it makes of them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "AttentionDescriptor.hpp"
#include "AttentionKernel.hpp"
#include "AttentionKernelDescriptor.hpp"
#include "GEMMDescriptor.hpp"
#include "GEMMKernel.hpp"
#include "GEMMKernelDescriptor.hpp"

namespace ccv::nnc::mfa {
void fatal_error(NS::Error *, int line, const char *file, const char *) {
  std::fprintf(stderr, "%s:%d: the generator failed\n", file, line);
  std::exit(1);
}
void precondition_failure(const char *, int line, const char *file, const char *) {
  std::fprintf(stderr, "%s:%d: the generator does not do this\n", file, line);
  std::exit(1);
}
}  // namespace ccv::nnc::mfa

static void save(const MTL::Device &device, const std::string &name) {
  for (size_t k = 0; k < device.sources.size(); k++) {
    std::ofstream(name + (k ? "_" + std::to_string(k) : "") + ".metal") << device.sources[k];
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const unsigned head = std::atoi(argv[1]);
  const std::string folder = argv[2];
  const DeviceProperties properties{10};
  const AttentionKernelType types[] = {AttentionKernelType::forward, AttentionKernelType::backwardQuery,
                                       AttentionKernelType::backwardKeyValue};
  for (bool apple9 : {false, true}) {
    const std::string chip = apple9 ? "_m3" : "_m1";
    for (auto type : types) {
      for (bool low : {false, true}) {
        MTL::Device device{apple9, {}};
        AttentionDescriptor d;
        d.lowPrecisionInputs = low;
        d.lowPrecisionIntermediates = low;
        d.matrixDimensions = simd::uint3{100, 77, head};
        d.transposeState = simd::uchar4{0, 0, 0, 0};
        d.type = type;
        d.scale = 0.125f;
        std::unordered_map<AttentionKernelDescriptor, std::unique_ptr<AttentionKernel>> cache;
        d.findKernel(&device, properties, &cache);
        save(device, folder + "/attention_" + type.name() + (low ? "_half" : "_float") + chip);
      }
    }
    const GEMMOperandPrecision precisions[] = {GEMMOperandPrecision::FP32, GEMMOperandPrecision::FP16,
                                               GEMMOperandPrecision::BF16};
    for (auto p : precisions) {
      for (bool transposed : {false, true}) {
        MTL::Device device{apple9, {}};
        GEMMDescriptor d;
        d.matrixDimensions = simd::uint3{100, 77, head};
        d.memoryPrecisions = {p, p, p, p};
        d.transposeState = simd::uchar3{transposed, transposed, 0};
        d.loadPreviousC = false;
        d.useBias = false;
        std::unordered_map<GEMMKernelDescriptor, std::unique_ptr<GEMMKernel>> cache;
        d.findKernel(&device, properties, &cache);
        save(device, folder + "/gemm_" + p.name() + (transposed ? "_t" : "") + chip);
      }
    }
  }
}
