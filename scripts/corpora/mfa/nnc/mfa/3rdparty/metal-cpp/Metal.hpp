// A stand-in for metal-cpp: a device that keeps the sources it is given and compiles nothing. Knows no kernel.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#define nil nullptr

namespace NS {
using Integer = long;
using UInteger = unsigned long;
enum { UTF8StringEncoding = 4 };
struct Error {};
struct String {
  std::string text;
  static String *string(const char *s, int) { return new String{s}; }
};
template <typename T>
struct SharedPtr {
  T *held = nullptr;
  T *get() const { return held; }
  T *operator->() const { return held; }
};
template <typename T>
SharedPtr<T> TransferPtr(T *held) {
  return {held};
}
}  // namespace NS

namespace MTL {
enum GPUFamily { GPUFamilyApple7 = 1007, GPUFamilyApple9 = 1009 };
enum DataType { DataTypeUInt = 33, DataTypeBool = 53 };
enum PipelineOption { PipelineOptionNone = 0 };

template <typename T>
struct Made {
  static T *alloc() { return new T; }
  T *init() { return static_cast<T *>(this); }
};
struct Function {};
struct FunctionConstantValues : Made<FunctionConstantValues> {
  void setConstantValue(const void *, DataType, NS::UInteger) {}
};
struct ComputePipelineDescriptor : Made<ComputePipelineDescriptor> {
  void setComputeFunction(Function *) {}
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger) {}
};
struct ComputePipelineState {
  NS::UInteger maxTotalThreadsPerThreadgroup() const { return 1024; }
};
struct Library {
  Function *newFunction(NS::String *, FunctionConstantValues *, NS::Error **) { return new Function; }
};
struct Device {
  /// Apple9: M3 and later.
  bool apple9 = false;
  /// Every source that was to be compiled.
  std::vector<std::string> sources;
  bool supportsFamily(GPUFamily family) const { return family <= GPUFamilyApple7 || (family == GPUFamilyApple9 && apple9); }
  Library *newLibrary(NS::String *source, void *, NS::Error **) {
    sources.push_back(source->text);
    return new Library;
  }
  ComputePipelineState *newComputePipelineState(Function *, NS::Error **) { return new ComputePipelineState; }
  ComputePipelineState *newComputePipelineState(ComputePipelineDescriptor *, PipelineOption, void *, NS::Error **) {
    return new ComputePipelineState;
  }
};
}  // namespace MTL
