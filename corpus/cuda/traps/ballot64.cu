// Trap: written for 64-lane wavefronts. The ballot is kept in 64 bits, lanes are numbered to 63 and the mask is
// 64 ones; on a 32-lane machine half of each rank is missing.
__global__ void ballot64(const int* __restrict__ flags, int* __restrict__ ranks, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 63;
    const int pred = i < n ? flags[i] : 0;
    const unsigned long long ballot = __ballot_sync(0xffffffffffffffffull, pred);
    const unsigned long long below = (1ull << lane) - 1ull;
    if (i < n) {
        ranks[i] = __popcll(ballot & below);
    }
}

void rank_flags(const int* flags, int* ranks, int n)
{
    int *dflags, *dranks;
    cudaMalloc(&dflags, n * sizeof(int));
    cudaMalloc(&dranks, n * sizeof(int));
    cudaMemcpy(dflags, flags, n * sizeof(int), cudaMemcpyHostToDevice);
    ballot64<<<(n + 255) / 256, 256>>>(dflags, dranks, n);
    cudaMemcpy(ranks, dranks, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(dflags);
    cudaFree(dranks);
}
